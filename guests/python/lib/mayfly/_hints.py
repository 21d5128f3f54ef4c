"""What to do about an error that the sandbox, rather than the program, is the reason of."""

# Top-level modules of well-known packages with native code, which no WebAssembly sandbox can load.
NATIVE = frozenset(
    "numpy pandas scipy sklearn matplotlib PIL cv2 torch tensorflow jax lxml pydantic_core orjson ujson psycopg2 "
    "cryptography polars pyarrow numba h5py statsmodels xgboost lightgbm shapely fiona geopandas grpc zmq "
    "greenlet gevent uvloop tiktoken tokenizers sentencepiece spacy".split()
)

# What does the work of well-known packages here.
INSTEAD = {
    **dict.fromkeys(
        ("httpx", "aiohttp", "urllib3", "httplib2", "pycurl"),
        "HTTP works through requests and urllib.request, as far as the host allows it (--allow-http)",
    ),
    **dict.fromkeys(
        ("openai", "anthropic", "litellm", "ollama", "cohere", "mistralai"),
        "language models are asked by ask_llm: from mayfly import ask_llm (--llm-model)",
    ),
    **dict.fromkeys(("mcp", "fastmcp"), "tool servers are modules: import tools, from tools.SERVER import TOOL (--tools)"),
}


def hint(exc):
    if isinstance(exc, ImportError) and isinstance(exc.name, str) and (exc.name == "tools" or exc.name.startswith("tools.")):
        from mayfly import _toolmodules

        if found := _toolmodules.hint(exc):
            return found
    if isinstance(exc, ModuleNotFoundError) and isinstance(exc.name, str):
        return _module(exc.name.partition(".")[0])
    if isinstance(exc, MemoryError):
        return "the sandbox's memory limit is reached: work in smaller pieces, or run with a higher limit (--memory)"
    if isinstance(exc, RecursionError):
        return "the recursion limit protects the stack: use a loop with an explicit stack instead"
    if isinstance(exc, RuntimeError) and str(exc) == "can't start new thread":
        return "the sandbox's limit of threads (--threads) or of memory (--memory) is reached: wait for some to end"
    return getattr(exc, "mayfly_hint", None)


def _module(name):
    import sys

    if name in sys.stdlib_module_names:
        return f"{name} is part of Python but cannot work in a WebAssembly sandbox; see: mayfly guest python --modules"
    if name in INSTEAD:
        return f"{name} is not in the sandbox; {INSTEAD[name]}"
    if name in NATIVE:
        return f"{name} has native code, which a WebAssembly sandbox cannot load; only the standard library is there"
    return f"{name} is not in the sandbox, which has the standard library only; mount it as /packages (--mount DIR:/packages)"
