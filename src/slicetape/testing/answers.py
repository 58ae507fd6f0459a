"""One answer of a scripted provider: its reply and its bill, in the words of each wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slicetape.testing.accounting import Bill
from slicetape.testing.replies import Reply

_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to request `number`, with ids and without faults of the connection."""

    reply: Reply
    bill: Bill
    asked: Json
    number: int

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.asked.get("model", ""))[:200]

    @property
    def streams_usage(self) -> bool:
        """Whether a chat request wants usage at the end of its stream."""
        options = self.asked.get("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True

    @property
    def stop_reason(self) -> str:
        """Why it ends, on the Messages wire."""
        return _STOPS["stop" if self.reply.fault == "empty" else self.reply.ending]

    def chat_head(self) -> dict[str, Any]:
        """The members that every part of a chat answer has."""
        return {"id": f"chatcmpl-{self.number}", "created": 0, "model": self.model}

    def messages_head(self) -> dict[str, Any]:
        """The message of the Messages wire before it says anything."""
        head = {"id": f"msg_{self.number}", "type": "message", "role": "assistant"}
        return {**head, "model": self.model, "content": [], "stop_sequence": None}

    def chat_usage(self) -> dict[str, Any]:
        """Usage as DeepSeek and OpenAI name it."""
        bill, cached = self.bill, self.bill.charge.cached
        return {
            "prompt_tokens": bill.prompt,
            "completion_tokens": bill.output,
            "total_tokens": bill.prompt + bill.output,
            "prompt_cache_hit_tokens": cached,
            "prompt_cache_miss_tokens": bill.prompt - cached,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": bill.reasoning},
        }

    def messages_usage(self) -> dict[str, Any]:
        """Usage of the Messages wire: three disjoint counts of the input."""
        charge = self.bill.charge
        return {
            "input_tokens": charge.fresh,
            "cache_creation_input_tokens": charge.written,
            "cache_read_input_tokens": charge.cached,
            "output_tokens": self.bill.output,
        }

    def chat(self) -> dict[str, Any]:
        """The whole answer to a chat request that does not stream."""
        reply = self.reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tools:
            message["tool_calls"] = [
                {
                    "id": one.id,
                    "type": "function",
                    "function": {"name": one.name, "arguments": one.raw},
                }
                for one in reply.tools
            ]
        finish = reply.ending
        if reply.fault == "empty":
            message, finish = {"role": "assistant", "content": ""}, "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        head = {**self.chat_head(), "object": "chat.completion"}
        return {**head, "choices": [choice], "usage": self.chat_usage()}

    def messages(self) -> dict[str, Any]:
        """The whole answer to a Messages request that does not stream."""
        reply, blocks = self.reply, list[Json]()
        if reply.reasoning:
            signature = f"signed:{len(reply.reasoning)}"
            thought = {"type": "thinking", "thinking": reply.reasoning, "signature": signature}
            blocks.append(thought)
        if reply.text:
            blocks.append({"type": "text", "text": reply.text})
        for one in reply.tools:
            call = {"type": "tool_use", "id": one.id, "name": one.name, "input": _input(one.raw)}
            blocks.append(call)
        said = [] if reply.fault == "empty" else blocks
        end = {"stop_reason": self.stop_reason, "usage": self.messages_usage()}
        return {**self.messages_head(), "content": said, **end}


def _input(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return {}
