"""tools.everything: the tools of the server 'everything'.

Shows all features.
"""

from typing import Any, Callable, Generic, Literal, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)

class Tool(Generic[_P, _R]):
    """A tool of a server. Call it, or await its aio() to do other things meanwhile."""

    def __init__(self, function: Callable[_P, _R], /) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    async def aio(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

@Tool
def get_sum(a: float, b: float) -> Any:
    """Get Sum

    Returns the sum of two numbers

    Args:
        a (float): First number.
        b (float): Second number.

    Changes nothing (read-only).

    Tool 'get-sum' of the server 'everything'.
    """
    ...

@Tool
def search(
    query: str,
    max_results: int = 10,
    sort: Literal['stars', 'forks'] | None = None,
    labels: list[str] | None = None,
    from_: str | None = None,
    owner: dict[str, Any] | None = None,
    step: float | None = None,
    target: dict[str, Any] | None = None
) -> Any:
    """Says \"\"\" and \\d.

    In two parts.

    Args:
        query (str): 2 to 100 characters.
        max_results (int, optional): At least 1 and at most 50; default 10. Called 'max-results' by the tool.
        sort (Literal['stars', 'forks'] | None, optional)
        labels (list[str], optional): At most 3 items; all different.
        from_ (str | None, optional): Format date. Called 'from' by the tool.
        owner (dict[str, Any], optional): Keys: name (str), boss (dict[str, Any], optional).
        step (float, optional): A multiple of 0.1.
        target (dict[str, Any], optional)

    Tool 'search' of the server 'everything'.
    """
    ...
