"""Format 4 to 3, event by event; seqs stay.

Tool results get their wrapper back, sources and block tags their old names. A kind that
only format 4 has becomes an ignorable `x/dsh4` event that holds it whole.
"""

from typing import Any

from slicetape.log.events import SNAPSHOT_PLUGIN
from slicetape.log.upgrade.kinds import V3, V4_ONLY, admit
from slicetape.log.upgrade.order import Order
from slicetape.log.upgrade.rows import Json, Row, damaged
from slicetape.log.upgrade.walk import blocks, messages

WRAPPER = "x/dsh4"
"""Kind of the event that holds an event of format 4."""

FOREIGN = "plugin:"
"""Prefix of third-party names in format 4."""

OUTER = f"{FOREIGN}message:"
INNER = f"{FOREIGN}result:"

BLOCK_TAGS = frozenset({"text", "reasoning", "image", "file", "tool-call", "tool-result"})

ENVELOPE = ("surfaceOp", "sourceEventSeqs", "ignorable")
"""Envelope keys that `x/dsh4` keeps in its data, for the way back."""

_PLUGINS = {
    "system-prompt": SNAPSHOT_PLUGIN,
    "runtime-context": SNAPSHOT_PLUGIN,
    "compact-checkpoint": "compact",
    "ptc-mode": "tools-ptc",
    "compact-basic": "dsh-compaction-basic",
}
_NATIVE = frozenset(
    [
        "user",
        "model",
        "tool",
        "agent-instructions",
        "session-reference",
        "skill-invocation",
        "skill-catalog",
        "goal",
        "webhook",
        "agent-message",
        "subagent-report",
        "subagent-settled",
        "team-message",
        "coordinator",
    ]
)
_MESSAGE_KEYS = frozenset({"id", "role", "source", "content", "toolCallId", "isError"})


class Lowering:
    """Lowers the events of one log in order.

    `view_only_from` is the seq of the first `developer/message`, None without one: what was
    sent after it cannot be rebuilt from a format 3 log.
    """

    def __init__(self) -> None:
        self.view_only_from: int | None = None
        self._order = Order()

    def lowered(self, row: Row) -> Json:
        """The event in format 3; the same object where both formats write it alike."""
        event = row.event
        kind = row.kind
        admit(row, 4)
        if "surfaceOp" in event and kind in V3 | V4_ONLY:
            event = self._on_surface(row)
        if kind == "developer/message" and self.view_only_from is None:
            self.view_only_from = row.origin
        if kind not in V3:
            return _foreign(event)
        if kind == "tool/result":
            event = _wrapped(row, event)
        return blocks(messages(event, _renamed), _own_tag)

    def _on_surface(self, row: Row) -> Json:
        """The event with a replacement that no longer counts on developer messages."""
        event, operation = row.event, row.event["surfaceOp"]
        hidden = row.kind == "developer/message"
        if operation == "append":
            self._order.append(row.origin, hidden=hidden)
            return event
        try:
            start, end = operation["startSeq"], operation["endSeq"]
            ends = self._order.replace(start, end, row.origin, hidden=hidden)
        except (TypeError, KeyError):
            raise damaged(row, "a replacement must name nodes of the surface") from None
        if hidden or ends == (start, end):
            return event
        if ends is None:
            return {**event, "surfaceOp": "append"}
        return {**event, "surfaceOp": {**operation, "startSeq": ends[0], "endSeq": ends[1]}}


def _foreign(event: Json) -> Json:
    """An event of another kind: its own name back, or held whole in `x/dsh4`."""
    kind: str = event["type"]
    if event.get("ignorable") is True:
        own = kind.removeprefix(FOREIGN)
        if own != kind and own not in V3 and own != "":
            return {**event, "type": own}
        if kind.startswith("x/"):
            return event
    held = {"type": kind, "data": event["data"]}
    held |= {key: event[key] for key in ENVELOPE if key in event}
    return {
        "type": WRAPPER,
        "seq": event["seq"],
        "time": event["time"],
        "data": held,
        "ignorable": True,
    }


def _wrapped(row: Row, event: Json) -> Json:
    message = event["data"].get("message")
    if not isinstance(message, dict) or message.get("role") != "tool":
        raise damaged(row, "a tool result of format 4 needs a message of the role tool")
    if "toolCallId" not in message or not isinstance(message.get("content"), list):
        raise damaged(row, "a tool result needs toolCallId and content")
    block: Json = {"type": "tool-result", "toolCallId": message["toolCallId"]}
    block["content"] = message["content"]
    if "isError" in message:
        block["isError"] = message["isError"]
    out: Json = {"source": message.get("source"), "content": [block], "role": "user"}
    out["id"] = message.get("id")
    for key, value in message.items():
        if key.startswith(INNER):
            block[key.removeprefix(INNER)] = value
        elif key not in _MESSAGE_KEYS:
            out[key.removeprefix(OUTER)] = value
    return {**event, "data": {**event["data"], "message": out}}


def _renamed(message: Json) -> Json:
    source = message.get("source")
    if not isinstance(source, dict):
        return message
    kind = source.get("kind")
    if not isinstance(kind, str) or kind in _NATIVE:
        return message
    plugin = _PLUGINS.get(kind) or kind.removeprefix(FOREIGN)
    rest = {key: value for key, value in source.items() if key not in {"kind", "plugin"}}
    return {**message, "source": {"kind": "plugin", "plugin": plugin, **rest}}


def _own_tag(block: Any) -> Any:
    """A block with its own tag; one that would become a known block keeps its prefix."""
    if not isinstance(block, dict):
        return block
    tag = block.get("type")
    if tag == "tool-result" and isinstance(block.get("content"), list):
        content = [_own_tag(inner) for inner in block["content"]]
        same = all(a is b for a, b in zip(content, block["content"], strict=True))
        return block if same else {**block, "content": content}
    if not isinstance(tag, str) or not tag.startswith(FOREIGN):
        return block
    own = tag.removeprefix(FOREIGN)
    return block if own in BLOCK_TAGS else {**block, "type": own}
