"""Makes JSON schemas of types, and values of these types of JSON."""

import collections.abc
import dataclasses
import datetime
import enum
import types
import typing


class Mismatch(ValueError):
    """A value is not what the type says."""


def of(kind):
    """Returns the JSON schema of a type, and a function that makes a value of the type of decoded JSON."""
    model_schema = getattr(kind, "model_json_schema", None)
    if isinstance(kind, type) and callable(model_schema):  # as pydantic has it
        return model_schema(), kind.model_validate
    maker = _Maker()
    schema, build = maker.make(kind)
    if maker.defs:
        schema = {**schema, "$defs": maker.defs}
    return schema, build


def _expect(kinds, name, convert=None):
    def build(value):
        if isinstance(value, bool) and bool not in kinds or not isinstance(value, kinds):
            raise Mismatch(f"expected {name}, not {value!r:.80}")
        return convert(value) if convert else value

    return build


def _parsed(parse, name):
    def build(value):
        try:
            return parse(value)
        except (TypeError, ValueError):
            raise Mismatch(f"expected {name}, not {value!r:.80}") from None

    return build


def _any(value):
    return value


def _none(value):
    if value is not None:
        raise Mismatch(f"expected null, not {value!r:.80}")


_PLAIN = {
    str: ({"type": "string"}, _expect((str,), "text")),
    # JSON does not tell 3 from 3.0, and some models write the latter.
    int: ({"type": "integer"}, _expect((int, float), "an integer", int)),
    float: ({"type": "number"}, _expect((int, float), "a number", float)),
    bool: ({"type": "boolean"}, _expect((bool,), "true or false")),
    None: ({"type": "null"}, _none),
    types.NoneType: ({"type": "null"}, _none),
    list: ({"type": "array"}, _expect((list,), "a list")),
    tuple: ({"type": "array"}, _expect((list,), "a list", tuple)),
    set: ({"type": "array"}, _expect((list,), "a list", set)),
    dict: ({"type": "object"}, _expect((dict,), "an object")),
    typing.Any: ({}, _any),
    object: ({}, _any),
    datetime.datetime: ({"type": "string", "format": "date-time"}, _parsed(datetime.datetime.fromisoformat, "a date and time")),
    datetime.date: ({"type": "string", "format": "date"}, _parsed(datetime.date.fromisoformat, "a date")),
}

_LISTS = {list: list, set: set, frozenset: frozenset, collections.abc.Sequence: list, collections.abc.Iterable: list}


class _Maker:
    def __init__(self):
        self.defs = {}  # schemas of classes that contain themselves
        self._under_way = {}  # class: [name of its definition or None, function to build it or None]

    def make(self, kind):
        try:
            plain = _PLAIN.get(kind)
        except TypeError:  # not hashable
            plain = None
        if plain is not None:
            return dict(plain[0]), plain[1]
        origin = typing.get_origin(kind)
        if origin is not None:
            return self._generic(kind, origin, typing.get_args(kind))
        if isinstance(kind, typing.TypeAliasType):
            return self.make(kind.__value__)
        if isinstance(kind, type):
            if issubclass(kind, enum.Enum):
                return self._choice([member.value for member in kind], kind)
            if dataclasses.is_dataclass(kind):
                return self._class(kind, self._dataclass)
            if typing.is_typeddict(kind):
                return self._class(kind, self._typed_dict)
        raise TypeError(
            f"schema cannot be made of {kind!r:.200}; it is a JSON schema (a dict), a dataclass, a TypedDict, an Enum, or a type "
            "made of str, int, float, bool, None, list, dict, Literal and the like"
        )

    def _generic(self, kind, origin, args):
        if origin is typing.Annotated:
            schema, build = self.make(args[0])
            for note in args[1:]:
                if isinstance(note, str):
                    schema["description"] = note
            return schema, build
        if origin is typing.Union or origin is types.UnionType:
            return self._union(args)
        if origin is typing.Literal:
            return self._choice(list(args), None)
        if origin in _LISTS or origin is tuple and len(args) == 2 and args[1] is ...:
            item, build = self.make(args[0])
            convert = _LISTS.get(origin, tuple)
            is_list = _expect((list,), "a list")
            return {"type": "array", "items": item}, lambda value: convert(build(v) for v in is_list(value))
        if origin is tuple:
            return self._tuple(args)
        if origin in (dict, collections.abc.Mapping, collections.abc.MutableMapping) and args[0] is str:
            item, build = self.make(args[1])
            is_dict = _expect((dict,), "an object")
            return (
                {"type": "object", "additionalProperties": item},
                lambda value: {k: build(v) for k, v in is_dict(value).items()},
            )
        if origin in (typing.Required, typing.NotRequired, typing.ReadOnly):
            return self.make(args[0])
        raise TypeError(f"schema cannot be made of {kind!r:.200}")

    def _tuple(self, args):
        made = [self.make(arg) for arg in args]
        is_list = _expect((list,), "a list")

        def build(value):
            if len(is_list(value)) != len(made):
                raise Mismatch(f"expected {len(made)} items, not {len(value)}")
            return tuple(b(v) for (_, b), v in zip(made, value))

        schema = {"type": "array", "prefixItems": [s for s, _ in made], "minItems": len(made), "maxItems": len(made)}
        return schema, build

    def _union(self, args):
        made = [self.make(arg) for arg in args]

        def build(value):
            problem = None
            for _, alternative in made:
                try:
                    return alternative(value)
                except Mismatch as exc:
                    problem = problem or exc
            raise problem

        return {"anyOf": [schema for schema, _ in made]}, build

    def _choice(self, values, cls):
        schema = {"enum": values}
        kinds = {type(value) for value in values}
        if len(kinds) == 1 and (kind := kinds.pop()) in (str, int, bool):
            schema = {"type": _PLAIN[kind][0]["type"], "enum": values}

        def build(value):
            for v in values:
                if v == value and isinstance(v, bool) == isinstance(value, bool):
                    return v if cls is None else cls(v)
            raise Mismatch(f"expected one of {values!r:.200}, not {value!r:.80}")

        return schema, build

    def _class(self, cls, describe):
        """Makes a class in place, or as a definition when it contains itself."""
        known = self._under_way.get(cls)
        if known is not None:
            if known[0] is None:
                name, n = cls.__name__, 1
                while name in self.defs:
                    n += 1
                    name = f"{cls.__name__}{n}"
                known[0], self.defs[name] = name, {}
            return {"$ref": f"#/$defs/{known[0]}"}, lambda value: known[1](value)
        known = self._under_way[cls] = [None, None]
        schema, known[1] = describe(cls)
        del self._under_way[cls]
        if known[0] is not None:
            self.defs[known[0]] = schema
            return {"$ref": f"#/$defs/{known[0]}"}, known[1]
        return schema, known[1]

    def _object(self, cls, fields):
        """fields are (name, type, description, required)."""
        properties, required, builds = {}, [], {}
        for name, kind, description, needed in fields:
            properties[name], builds[name] = self.make(kind)
            if description:
                properties[name]["description"] = description
            if needed:
                required.append(name)
        schema = {"title": cls.__name__, "type": "object", "properties": properties, "required": required}
        schema["additionalProperties"] = False
        doc = cls.__doc__
        if doc and not doc.startswith(f"{cls.__name__}("):  # what dataclasses write is no description
            schema["description"] = doc.strip()
        is_dict = _expect((dict,), "an object")

        def build(value):
            is_dict(value)
            for name in required:
                if name not in value:
                    raise Mismatch(f"{name} is missing")
            for name in value:
                if name not in builds:
                    raise Mismatch(f"{name!r:.80} is not a field of {cls.__name__}")
            return {name: builds[name](v) for name, v in value.items()}

        return schema, build

    def _dataclass(self, cls):
        hints = typing.get_type_hints(cls, include_extras=True)
        missing = dataclasses.MISSING
        schema, build = self._object(
            cls,
            [
                (f.name, hints[f.name], f.metadata.get("description"), f.default is missing and f.default_factory is missing)
                for f in dataclasses.fields(cls)
                if f.init
            ],
        )
        return schema, lambda value: cls(**build(value))

    def _typed_dict(self, cls):
        hints = typing.get_type_hints(cls, include_extras=True)
        return self._object(cls, [(name, kind, None, name in cls.__required_keys__) for name, kind in hints.items()])
