"""ask_llm: language models, which a program asks through the host. hostfns/llm describes the host's side."""

from mayfly import _host

# Bound early: the program may replace any of these.
_call, _call_async = _host.call, _host.call_async
_isinstance, _type, _str, _list, _dict = isinstance, type, str, list, dict

#: A large result that is passed as context is loaded up to this size; a model would hardly take more.
_MAX_LOADED = 512 << 10


class LLMError(_host.HostError):
    """A model was not asked, or gave no usable answer.

    code says why:
      "rate_limit"       the provider limits requests; retry_after has the seconds to wait, if they are known
      "context_too_long" prompt and context are too long for the model: ask about parts
      "refused"          the model or its provider would not answer
      "invalid_output"   the answer does not match schema, even after a try to repair it; data["text"] has it
      "too_large"        the answer was cut (data["text"] has it), or the context is too large
      "budget"           calls, tokens or time for models are used up; the message says how many
      "denied"           the model, or asking models at all, is not allowed
      "timeout"          it took too long
      "bad_request"      the request makes no sense, or the model does not take it
      "unavailable"      there is no model, or its server cannot be reached
      "server_error"     the model's server talks nonsense
    The host has already repeated what was worth repeating.
    """

    __module__ = "mayfly"

    @classmethod
    def of(cls, head):
        if head.get("code") == "unavailable" and not head.get("hint"):
            if any(text in head.get("message", "") for text in ("no function llm.", "no host functions")):
                head = {**head, "message": "no language model is configured for this sandbox"}
            head = {**head, "hint": "whoever starts the sandbox names a model: --llm-model MODEL, or llm in the configuration"}
        return super().of(head)


def ask_llm(prompt, *, context=None, schema=None, model=None, system=None, temperature=None, max_tokens=None, cache=None):
    """Asks a language model, and returns its answer.

    prompt       what to do, as text.
    context      what to do it with: text, a list of texts, or anything that is JSON. It is put below the prompt, delimited.
    schema       the form of the answer: a JSON schema (a dict), a dataclass, a TypedDict, or a type such as int,
                 list[str], dict[str, float], Literal["yes", "no"], Point | None. The answer is checked against it.
    model        another model than the default one, if the host allows it.
    system       instructions that hold for the whole, as text.
    temperature  0 (the default) to 2.
    max_tokens   the length of the answer. Longer answers are cut; with a schema that is an error.
    cache        False: ask again, although the same question at temperature 0 was answered before.

    Without schema the answer is a str, else the value: for a dataclass an instance of it. Raises LLMError.

        ask_llm("Summarise in one line:", context=text)
        ask_llm("List the people.", context=text, schema=list[str])

        @dataclass
        class Invoice:
            number: str
            total: float
        invoice = ask_llm("Read this invoice.", context=text, schema=Invoice)

    For many prompts use ask_llm_batch; in coroutines use await ask_llm.aio(...).
    """
    args, build = _arguments(context, schema, model, system, temperature, max_tokens, cache)
    args["prompt"] = _text("prompt", prompt)
    return build(_call("llm.ask", args, error=LLMError))


async def _ask_aio(
    prompt, *, context=None, schema=None, model=None, system=None, temperature=None, max_tokens=None, cache=None
):
    """Like ask_llm, but other tasks go on meanwhile: await asyncio.gather(ask_llm.aio(...), ask_llm.aio(...))."""
    args, build = _arguments(context, schema, model, system, temperature, max_tokens, cache)
    args["prompt"] = _text("prompt", prompt)
    return build(await _call_async("llm.ask", args, error=LLMError))


def ask_llm_batch(
    prompts,
    *,
    context=None,
    schema=None,
    model=None,
    system=None,
    temperature=None,
    max_tokens=None,
    cache=None,
    return_exceptions=False,
):
    """Asks a language model several things at once, and returns the answers in the order of prompts.

    prompts is an iterable of texts; the other arguments are those of ask_llm, and the same for all prompts. The first
    prompt that fails ends the others, and its LLMError is raised. With return_exceptions, all are asked, and the list has
    the LLMError in the place of each answer that there is none of.

        summaries = ask_llm_batch([f"Summarise in one line:\\n\\n{page}" for page in pages])
    """
    args, build = _arguments(context, schema, model, system, temperature, max_tokens, cache)
    _add_prompts(args, prompts, return_exceptions)
    return _answers(_call("llm.batch", args, error=LLMError), build, return_exceptions)


async def _batch_aio(
    prompts,
    *,
    context=None,
    schema=None,
    model=None,
    system=None,
    temperature=None,
    max_tokens=None,
    cache=None,
    return_exceptions=False,
):
    """Like ask_llm_batch, but other tasks go on meanwhile."""
    args, build = _arguments(context, schema, model, system, temperature, max_tokens, cache)
    _add_prompts(args, prompts, return_exceptions)
    return _answers(await _call_async("llm.batch", args, error=LLMError), build, return_exceptions)


for _function, _aio in (ask_llm, _ask_aio), (ask_llm_batch, _batch_aio):
    _function.__module__ = _aio.__module__ = "mayfly"
    _aio.__name__, _aio.__qualname__ = "aio", f"{_function.__name__}.aio"
    _function.aio = _aio
del _function, _aio


def _text(name, value):
    if not _isinstance(value, _str):
        raise TypeError(f"{name} is a str, not a {_type(value).__name__}; data goes into context")
    return value


def _add_prompts(args, prompts, return_exceptions):
    if _isinstance(prompts, (_str, bytes)):
        raise TypeError("prompts is a list of texts; ask_llm asks a single one")
    args["prompts"] = [_text("each prompt", prompt) for prompt in prompts]
    if return_exceptions:
        args["return_exceptions"] = True


def _arguments(context, schema, model, system, temperature, max_tokens, cache):
    """Returns the arguments that both functions have in common, and what makes the value of an answer."""
    args, build = {}, _same
    if context is not None:
        args["context"] = _loaded(context)
    if schema is not None:
        if not _isinstance(schema, _dict):
            from mayfly import _llm_schema

            schema, build = _llm_schema.of(schema)
        args["schema"] = schema
    if model is not None:
        args["model"] = _text("model", model)
    if system is not None:
        args["system"] = _text("system", system)
    if temperature is not None:
        args["temperature"] = float(temperature)
    if max_tokens is not None:
        args["max_tokens"] = max_tokens.__index__()
    if cache is not None:
        args["cache"] = bool(cache)
    return args, build


def _same(value):
    return value


def _loaded(value):
    """Returns what is passed as context, with what results of tools stand for in their place."""
    if _isinstance(value, (_list, tuple)):
        return [item if _isinstance(item, (_str, _list, tuple)) else _loaded(item) for item in value]
    kind = _type(value)
    if kind.__module__ != "mayfly":
        return value
    if kind.__name__ == "Resource" and value.text is not None:
        return value.text
    if kind.__name__ != "LargeResult":
        return value
    if value.size <= _MAX_LOADED:
        return value.load()
    raise LLMError(
        f"the context is a large result of {value.size:,} bytes, which no model takes whole",
        code="too_large",
        hint="pass a part of it, context=result[:20000], or ask about the parts with ask_llm_batch",
    )


def _answers(items, build, keep):
    answers = []
    for item in items:
        error = item.get("error")
        if error is None:
            answers.append(build(item["value"]))
        elif keep:
            answers.append(LLMError.of(error))
        else:  # the host does not do this
            raise LLMError.of(error)
    return answers
