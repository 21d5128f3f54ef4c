"""Calls tools of two MCP servers: mayfly run --tools mcp.json report.py

With a model (--llm-model gpt-4.1-mini), it asks for a summary as well.
"""

import asyncio

import tools
from mayfly import LLMError, ask_llm
from tools import everything
from tools.filesystem import list_directory, read_text_file

# Thousands of tools are no trouble: a program looks for the one that it needs, and its own context stays small.
print("found:", tools.search("add two numbers")[0].import_)

print(list_directory(path="."))
notes = read_text_file(path="notes.txt")
print(len(notes.splitlines()), "notes")


async def sums():
    # Both calls run on the host at the same time.
    return await asyncio.gather(everything.get_sum.aio(a=1, b=2), everything.get_sum.aio(a=3, b=4))


for answer in asyncio.run(sums()):
    print(answer)

# A call that fails raises. It never comes back as a value that looks like a result.
try:
    read_text_file(path="/etc/shadow")
except tools.ToolError as e:
    print("refused:", e.server, e.tool, e.code)

try:
    print("summary:", ask_llm("Summarise in one line:", context=notes))
except LLMError as e:
    print("no summary:", e.code)
