# mypy: ignore-errors
"""pydantic-ai-harness: `ToolOutputLimits` on each result, and its compactions before requests.

The hooks of the capabilities are called as an agent run calls them, results once as they enter,
compactions before each request; what they make stays in the history.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from pydantic_ai import RunContext
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.tool_output_limits import Band, LocalFileStore, Spill, ToolOutputLimits


class Session:
    """Limits unless `limits` is false; `clear` or `window` are the options of a compaction."""

    def __init__(self, settings):
        self.folder = tempfile.TemporaryDirectory(prefix="peer-spills-")
        self.limits = self.limits_of(settings) if settings.get("limits", True) else None
        self.compaction = Compaction(settings) if {"clear", "window"} & set(settings) else None
        self.model = TestModel()
        self.loop = asyncio.new_event_loop()
        self.calls = {}
        self.messages = []
        self.history = []
        self.kept = 0

    def limits_of(self, settings):
        """The capability, which spills into a folder of this session."""
        options = {"store": LocalFileStore(base_dir=Path(self.folder.name) / "spills")}
        if "spill_over" in settings:
            options["bands"] = [Band(over=settings["spill_over"], action=Spill())]
        return ToolOutputLimits(**options)

    def take(self, messages, keep):
        """Hold the next request."""
        for message in messages[keep:]:
            for call in message.get("tool_calls") or ():
                self.calls[call["id"]] = call["function"]
        self.messages, self.kept = messages, keep

    def rewrite(self):
        """Limit what is new, then compact."""
        return self.loop.run_until_complete(self.work())

    def given(self, result):
        """The messages that are sent."""
        return self.compaction.given() if self.compaction else result

    async def work(self):
        """The history so far."""
        self.history = self.history[: self.kept]
        for message in self.messages[self.kept :]:
            text = message.get("content")
            if self.limits and message.get("role") == "tool" and isinstance(text, str):
                shown = await self.shown(message, text)
                message = message if shown == text else {**message, "content": shown}
            self.history.append(message)
        if self.compaction:
            await self.compaction.work(self.history, self.kept, self.model)
        return list(self.history)

    async def shown(self, message, text):
        """What the model is shown of one result."""
        id = message.get("tool_call_id") or ""
        function = self.calls.get(id) or {"name": "tool", "arguments": "{}"}
        call = ToolCallPart(function["name"], function["arguments"], tool_call_id=id)
        context = RunContext(
            deps=None,
            model=self.model,
            usage=RunUsage(),
            run_id="replay",
            tool_call_id=id,
            tool_name=call.tool_name,
        )
        result = await self.limits.after_tool_execute(
            context,
            call=call,
            tool_def=ToolDefinition(name=call.tool_name),
            args=arguments(call.args),
            result=text,
        )
        return result.return_value if isinstance(result, ToolReturn) else result


class Compaction:
    """The history as the library keeps it, and the chat message that each part of it came from."""

    def __init__(self, settings):
        from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction

        if "clear" in settings:
            self.capability = ClearToolResults(**settings["clear"])
        else:
            self.capability = SlidingWindowCompaction(**settings["window"])
        self.clear()

    def clear(self):
        """Forget the history."""
        self.history = []
        self.origins = {}
        self.results = {}
        self.names = {}
        self.taken = 0

    async def work(self, messages, kept, model):
        """Take in what is new and compact."""
        from pydantic_ai.models import ModelRequestContext, ModelRequestParameters

        if kept < self.taken:  # an older message changed: begin anew
            self.clear()
        for message in messages[self.taken :]:
            self.add(message)
        self.taken = len(messages)
        context = RunContext(deps=None, model=model, usage=RunUsage(), messages=self.history)
        request = ModelRequestContext(
            model=model,
            messages=list(self.history),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        await self.capability.before_model_request(context, request)
        self.history = context.messages

    def add(self, message):
        """Put a chat message behind the history, in the request that is still open."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart

        if message["role"] == "assistant":
            parts = [TextPart(message["content"])] if message.get("content") else []
            for call in message.get("tool_calls") or ():
                function = call["function"]
                self.names[call["id"]] = function["name"]
                part = ToolCallPart(function["name"], function["arguments"], call["id"])
                parts.append(part)
            added = ModelResponse(parts=parts)
            self.origins[id(added)] = added, message
            self.history.append(added)
            return
        part = self.part(message)
        self.origins[id(part)] = part, message
        if self.history and isinstance(self.history[-1], ModelRequest):
            # A new object: the library may hold the one before as sent.
            self.history[-1] = ModelRequest(parts=[*self.history[-1].parts, part])
        else:
            self.history.append(ModelRequest(parts=[part]))

    def part(self, message):
        """The part that stands for a message of a person, a host or a tool."""
        from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart

        text = text_of(message.get("content"))
        if message["role"] == "system":
            return SystemPromptPart(text)
        if message["role"] != "tool":
            return UserPromptPart(text)
        id = message.get("tool_call_id") or ""
        self.results[id] = message
        return ToolReturnPart(self.names.get(id, "tool"), text, id)

    def given(self):
        """Chat messages; only parts that the library wrote are new ones."""
        given = []
        for message in self.history:
            known = self.origins.get(id(message))
            if known:
                given.append(known[1])
                continue
            for part in message.parts:
                known = self.origins.get(id(part))
                given.append(known[1] if known else self.written(part))
        return given

    def written(self, part):
        """The chat message of a part that the library wrote; each is made once."""
        origin = self.results.get(getattr(part, "tool_call_id", None))
        if origin is not None:
            message = {**origin, "content": part.content}
        else:
            role = "system" if part.part_kind == "system-prompt" else "user"
            message = {"role": role, "content": text_of(part.content)}
        self.origins[id(part)] = part, message
        return message


def text_of(content):
    """The text of a message; texts of parts are joined."""
    if isinstance(content, list | tuple):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


def arguments(text):
    """The arguments of a call; none when they are no JSON object."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
