# mypy: ignore-errors
"""OpenAI Agents SDK: `ToolOutputTrimmer` as the filter of the model's input."""

from agents.extensions import ToolOutputTrimmer
from agents.run import CallModelData, ModelInputData


class Session:
    """A filter over the whole history, each request anew."""

    def __init__(self, settings):
        self.trimmer = ToolOutputTrimmer(**settings)
        self.messages = []
        self.items = []
        self.origin = []

    def take(self, messages, keep):
        """Hold the next request as items of the Responses wire; each message is converted once."""
        while self.origin and self.origin[-1] >= keep:
            self.origin.pop()
            self.items.pop()
        for at in range(keep, len(messages)):
            for item in items(messages[at]):
                self.items.append(item)
                self.origin.append(at)
        self.messages = messages

    def rewrite(self):
        """One call of the filter."""
        data = ModelInputData(input=list(self.items), instructions=None)
        return self.trimmer(CallModelData(model_data=data, agent=None, context=None)).input

    def given(self, result):
        """Chat messages; only a trimmed output is a new one."""
        given = list(self.messages)
        for before, after, at in zip(self.items, result, self.origin, strict=True):
            if after is not before and after != before:
                given[at] = {**given[at], "content": after["output"]}
        return given


def items(message):
    """The items that stand for a chat message."""
    role = message.get("role")
    if role == "tool":
        output = message.get("content") or ""
        yield {
            "type": "function_call_output",
            "call_id": message.get("tool_call_id"),
            "output": output if isinstance(output, str) else text_of(output),
        }
        return
    if message.get("content"):
        yield {"role": role, "content": message["content"]}
    for call in message.get("tool_calls") or ():
        yield {
            "type": "function_call",
            "call_id": call["id"],
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"],
        }


def text_of(parts):
    """The texts of content parts."""
    return "\n".join(part.get("text", "") for part in parts)
