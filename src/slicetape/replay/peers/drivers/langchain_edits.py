# mypy: ignore-errors
"""LangChain: `ClearToolUsesEdit` on a copy of the request, as its middleware does."""

import json
from copy import deepcopy

from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.messages import convert_to_messages
from langchain_core.messages.utils import count_tokens_approximately


class Session:
    """Edits that start from the whole history each time."""

    def __init__(self, settings):
        self.edit = ClearToolUsesEdit(**settings)
        self.messages = []
        self.converted = []

    def take(self, messages, keep):
        """Hold the next request; each message is converted once."""
        new = convert_to_messages([plain(message) for message in messages[keep:]])
        self.converted = self.converted[:keep] + new
        self.messages = messages

    def rewrite(self):
        """Copy and edit."""
        copied = deepcopy(self.converted)
        self.edit.apply(copied, count_tokens=count_tokens_approximately)
        return copied

    def given(self, result):
        """Chat messages; only a result that was cleared is a new one."""
        rows = zip(self.messages, self.converted, result, strict=True)
        return [
            original if before.content == after.content else {**original, "content": after.content}
            for original, before, after in rows
        ]


def plain(message):
    """The message as LangChain takes it: arguments that are no JSON object become one."""
    taken = {key: value for key, value in message.items() if key != "reasoning_content"}
    if taken.get("tool_calls"):
        taken["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": arguments(call)}}
            for call in taken["tool_calls"]
        ]
    return taken


def arguments(call):
    """The arguments of a call as a JSON object, which the edit never looks into."""
    text = call["function"]["arguments"]
    try:
        if isinstance(json.loads(text), dict):
            return text
    except ValueError:
        pass
    return json.dumps({"input": text})
