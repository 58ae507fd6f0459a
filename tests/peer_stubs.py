"""Environments of peers with stand-ins for their libraries: real drivers, nothing downloaded."""

import venv
from pathlib import Path

from slicetape.replay.peers.environment import Environment
from slicetape.replay.peers.pins import Peer, all_peers

_HEADROOM = """
class Result:
    def __init__(self, messages):
        self.messages = messages

def compress(messages, model, mode=None, frozen_message_count=0):
    assert model == "gpt-4o"
    mark = "[agent] " if mode == "agent" else "[short] "
    return Result([
        {**m, "content": mark + m["content"][:20]}
        if m["role"] == "tool" and at >= frozen_message_count and not m["content"].startswith("[")
        else dict(m)
        for at, m in enumerate(messages)
    ])
"""

_LANGCHAIN = """
class ClearToolUsesEdit:
    def __init__(self, trigger, keep, clear_at_least=0):
        self.trigger, self.keep = trigger, keep

    def apply(self, messages, *, count_tokens):
        tools = [m for m in messages if m.type == "tool"]
        if count_tokens(messages) * 1_000 > self.trigger:
            for message in tools[: -self.keep]:
                message.content = "[cleared]"
"""

_LANGCHAIN_MESSAGES = """
import json

class Message:
    def __init__(self, row):
        self.type, self.content = row["role"], row["content"]
        for call in row.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
        assert "reasoning_content" not in row

def convert_to_messages(rows):
    return [Message(row) for row in rows]
"""

_COUNTING = """
def count_tokens_approximately(messages):
    return sum(len(m.content) for m in messages)
"""

_TRIMMER = """
class ToolOutputTrimmer:
    def __init__(self, recent_turns=2, max_output_chars=500):
        self.recent, self.limit = recent_turns, max_output_chars

    def __call__(self, data):
        items = data.model_data.input
        users = [at for at, item in enumerate(items) if item.get("role") == "user"]
        old = users[-self.recent] if len(users) >= self.recent else 0
        called = {i["call_id"]: i["name"] for i in items if i.get("type") == "function_call"}
        data.model_data.input = [
            {**item, "output": "[trimmed " + called[item["call_id"]] + "]"}
            if at < old and len(item.get("output", "")) > self.limit else item
            for at, item in enumerate(items)
        ]
        return data.model_data
"""

_AGENTS_RUN = """
class ModelInputData:
    def __init__(self, input, instructions):
        self.input = input

class CallModelData:
    def __init__(self, model_data, agent, context):
        self.model_data = model_data
"""

_PYDANTIC = """
class Record:
    def __init__(self, *args, **fields):
        self.__dict__.update(fields)
        if args:
            self.tool_name, self.args, *id = args
            if id:
                self.tool_call_id = id[0]

RunContext = Record
"""

_PYDANTIC_MESSAGES = """
from pydantic_ai import Record as ToolCallPart, Record as ToolReturn

class Part:
    def __init__(self, content):
        self.content = content

class TextPart(Part):
    part_kind = "text"

class SystemPromptPart(Part):
    part_kind = "system-prompt"

class UserPromptPart(Part):
    part_kind = "user-prompt"

class ToolReturnPart(Part):
    part_kind = "tool-return"

    def __init__(self, name, content, id):
        super().__init__(content)
        self.name, self.tool_call_id = name, id

class ModelRequest:
    def __init__(self, parts):
        self.parts = parts

class ModelResponse:
    def __init__(self, parts):
        self.parts = parts
"""

_COMPACTION = """
from pydantic_ai.messages import ModelRequest, SystemPromptPart, ToolReturnPart, UserPromptPart

class ClearToolResults:
    def __init__(self, max_tokens, keep_pairs):
        self.most = max_tokens / 1_000

    async def before_model_request(self, ctx, request):
        assert request.messages == ctx.messages
        if len(ctx.messages) > self.most:
            ctx.messages[:] = [self.cleared(m) for m in ctx.messages[:-1]] + ctx.messages[-1:]

    def cleared(self, message):
        if not any(isinstance(p, ToolReturnPart) and p.content != "[]" for p in message.parts):
            return message
        return ModelRequest([
            ToolReturnPart(p.name, "[]", p.tool_call_id) if isinstance(p, ToolReturnPart) else p
            for p in message.parts
        ])

class SlidingWindowCompaction:
    def __init__(self, max_tokens, keep_messages):
        self.most, self.keep = max_tokens / 1_000, keep_messages

    async def before_model_request(self, ctx, request):
        if len(ctx.messages) > self.most:
            head = ModelRequest([SystemPromptPart("some went"), UserPromptPart("go on")])
            ctx.messages[:] = [head, *ctx.messages[-self.keep :]]
"""

_LIMITS = """
from pydantic_ai.messages import ToolReturn

class Band:
    def __init__(self, over, action):
        self.over = over

class Spill:
    pass

class LocalFileStore:
    def __init__(self, base_dir):
        self.base_dir = base_dir

class ToolOutputLimits:
    def __init__(self, store, bands=()):
        self.over = bands[0].over if bands else 10_000

    async def after_tool_execute(self, ctx, *, call, tool_def, args, result):
        assert ctx.tool_call_id == call.tool_call_id and isinstance(args, dict)
        if len(result) <= self.over:
            return result
        return ToolReturn(return_value=f"[spilled {call.tool_name} {len(result)}]")
"""

_FILES = {
    "headroom": {"headroom/__init__.py": _HEADROOM},
    "langchain": {
        "langchain/agents/middleware/context_editing.py": _LANGCHAIN,
        "langchain_core/messages/__init__.py": _LANGCHAIN_MESSAGES,
        "langchain_core/messages/utils.py": _COUNTING,
    },
    "openai-agents": {"agents/extensions.py": _TRIMMER, "agents/run.py": _AGENTS_RUN},
    "pydantic": {
        "pydantic_ai/__init__.py": _PYDANTIC,
        "pydantic_ai/messages.py": _PYDANTIC_MESSAGES,
        "pydantic_ai/models/__init__.py": "from pydantic_ai import Record as ModelRequestContext\n"
        "from pydantic_ai import Record as ModelRequestParameters\n",
        "pydantic_ai/models/test.py": "from pydantic_ai import Record as TestModel\n",
        "pydantic_ai/tools.py": "from pydantic_ai import Record as ToolDefinition\n",
        "pydantic_ai/usage.py": "from pydantic_ai import Record as RunUsage\n",
        "pydantic_ai_harness/tool_output_limits.py": _LIMITS,
        "pydantic_ai_harness/compaction.py": _COMPACTION,
    },
}


def install_stubs(home: Path) -> None:
    """Make the environment of every peer under `home`."""
    for peer in all_peers():
        _install(Environment.of(peer, home=home), peer)


def _install(place: Environment, peer: Peer) -> None:
    venv.create(place.folder, with_pip=False, symlinks=True)
    (packages,) = place.folder.glob("[lL]ib/**/site-packages")
    for name, text in _FILES[peer.name].items():
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for package in peer.packages:
        name, _, version = package.partition("==")
        about = packages / f"{name.replace('-', '_')}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    (place.folder / "installed").write_text("\n".join(peer.packages) + "\n")
