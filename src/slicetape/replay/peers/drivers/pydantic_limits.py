# mypy: ignore-errors
"""pydantic-ai-harness: `ToolOutputLimits` on each result as it enters.

The hook of the capability is called as an agent run calls it, once for each result; what it makes
stays in the history.
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
    """Results are limited once, when they come; the rest of the history stays."""

    def __init__(self, settings):
        self.folder = tempfile.TemporaryDirectory(prefix="peer-spills-")
        options = {"store": LocalFileStore(base_dir=Path(self.folder.name) / "spills")}
        if "spill_over" in settings:
            options["bands"] = [Band(over=settings["spill_over"], action=Spill())]
        self.limits = ToolOutputLimits(**options)
        self.model = TestModel()
        self.loop = asyncio.new_event_loop()
        self.calls = {}
        self.messages = []
        self.history = []
        self.kept = 0

    def take(self, messages, keep):
        """Hold the next request."""
        for message in messages[keep:]:
            for call in message.get("tool_calls") or ():
                self.calls[call["id"]] = call["function"]
        self.messages, self.kept = messages, keep

    def rewrite(self):
        """Limit what is new."""
        return self.loop.run_until_complete(self.limit())

    def given(self, result):
        """The history so far."""
        return result

    async def limit(self):
        """The history with its new results limited."""
        self.history = self.history[: self.kept]
        for message in self.messages[self.kept :]:
            text = message.get("content")
            if message.get("role") == "tool" and isinstance(text, str):
                shown = await self.shown(message, text)
                message = message if shown == text else {**message, "content": shown}
            self.history.append(message)
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


def arguments(text):
    """The arguments of a call; none when they are no JSON object."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
