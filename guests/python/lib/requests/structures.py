"""Mappings."""

from collections.abc import Mapping, MutableMapping


class CaseInsensitiveDict(MutableMapping):
    """Headers: the case of names does not count, but is kept."""

    def __init__(self, data=None, **kwargs):
        self._store = {}
        self.update({} if data is None else data, **kwargs)

    def __setitem__(self, key, value):
        self._store[key.lower()] = (key, value)

    def __getitem__(self, key):
        return self._store[key.lower()][1]

    def __delitem__(self, key):
        del self._store[key.lower()]

    def __iter__(self):
        return (key for key, _ in self._store.values())

    def __len__(self):
        return len(self._store)

    def lower_items(self):
        """The items, with names in lower case."""
        return ((key, value) for key, (_, value) in self._store.items())

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return dict(self.lower_items()) == dict(CaseInsensitiveDict(other).lower_items())

    def copy(self):
        return CaseInsensitiveDict(self._store.values())

    def __repr__(self):
        return repr(dict(self.items()))


class LookupDict(dict):
    """A dict whose items are attributes; what is not there is None."""

    def __init__(self, name=None):
        super().__init__()
        self.name = name

    def __getitem__(self, key):
        return self.__dict__.get(key)

    def get(self, key, default=None):
        return self.__dict__.get(key, default)

    def __repr__(self):
        return f"<lookup '{self.name}'>"
