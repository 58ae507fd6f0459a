"""Format 2 to 3: the system prompt moves from the header onto the surface.

The first step opens with an empty prompt; a header with another prompt is preceded by a
`system/message` that replaces it. Ids are derived from session, seq and kind, as the
original migration derives them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from slicetape.log.events import SNAPSHOT_PLUGIN
from slicetape.log.upgrade.restart import Restarts
from slicetape.log.upgrade.rows import Json, Row, damaged, unsupported
from slicetape.log.upgrade.seqs import SeqMap, renumbered
from slicetape.log.upgrade.walk import messages

_RENAMED = {
    "tool/code-dispatch-start": "tool/ptc-dispatch-start",
    "tool/code-dispatch": "tool/ptc-dispatch",
}
_ATTRIBUTED = frozenset({"user/message", "agent/inbox/spliced", "session/title-llm-request"})


def lift_prompts(rows: Iterable[Row], session: str) -> Iterator[Row]:
    """The rows of a format 2 file as format 3 says them.

    A message that the first builds logged just ahead of the first step moves into that step,
    where later builds put it. UnsupportedFormat when a prompt changes outside a step, or a
    message stands in a turn before the first step: what was sent could not be told.
    """
    lifting = _Lifting(session)
    for row in rows:
        yield from lifting.take(row)
    yield from lifting.end()


def preset(name: Any) -> Any:
    """The id that an agent preset has since format 3."""
    return "ptc" if name == "code" else name


class _Lifting:
    def __init__(self, session: str) -> None:
        self._session = session
        self._restarts = Restarts()
        self._map = SeqMap()
        self._next = 0
        self._step: Json | None = None
        self._early: list[Row] = []
        self._head: int | None = None
        self._prompt = ""

    def take(self, row: Row) -> Iterator[Row]:
        closing = self._restarts.closing(row.event)
        if closing is not None:
            yield self._insert(row, closing)
            self._step = None
        if self._head is not None:
            yield from self._place(row)
        elif row.kind == "step/start":
            yield from self._first_step(row)
        elif self._early and row.kind in {"turn/start", "turn/end"}:
            raise unsupported(self._early[0], "it stands on the surface before the first step")
        elif self._early or "surfaceOp" in row.event:
            self._early.append(row)
        else:
            yield from self._place(row)

    def end(self) -> Iterator[Row]:
        for row in self._early:
            yield from self._place(row)

    def _first_step(self, row: Row) -> Iterator[Row]:
        """The empty prompt becomes the first node: early messages of the turn go behind it."""
        yield from self._place(row)
        yield self._system(row, "")
        for early in self._early:
            yield from self._place(early)
        self._early = []

    def _place(self, row: Row) -> Iterator[Row]:
        kind = row.kind
        if kind == "request/header":
            yield from self._header(row)
            return
        yield self._keep(row, _renamed(row.event))
        if kind == "step/start":
            self._step = {"turn": row.data.get("turn"), "step": row.data.get("step")}
        elif kind in {"step/end", "turn/end"}:
            self._step = None

    def _header(self, row: Row) -> Iterator[Row]:
        header = row.data.get("header")
        if not isinstance(header, dict):
            raise damaged(row, "header must be an object")
        prompt = header.get("system", "")
        if not isinstance(prompt, str):
            raise damaged(row, "header.system must be a string")
        if prompt != self._prompt:
            yield self._system(row, prompt)
            self._prompt = prompt
        empty: Json = {"tools": [], "adapterDefaults": {}}
        kept = {
            key: value
            for key, value in header.items()
            if key != "system" and not (key in empty and value == empty[key])
        }
        yield self._keep(row, {**row.event, "data": {**row.data, "header": kept}})

    def _system(self, anchor: Row, prompt: str) -> Row:
        if self._step is None:
            raise unsupported(anchor, "the system prompt changes outside a step")
        key = ["session-format-v2-to-v3", self._session, anchor.event["seq"], anchor.kind]
        text = json.dumps(key, ensure_ascii=False, separators=(",", ":"))
        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        message = {
            "id": f"v2-to-v3-system-{digest}",
            "role": "system",
            "source": {"kind": "plugin", "plugin": SNAPSHOT_PLUGIN},
            "content": [{"type": "text", "text": prompt}] if prompt else [],
        }
        event: Json = {"type": "system/message", "seq": 0, "time": anchor.event["time"]}
        event["data"] = {**self._step, "message": message}
        if self._head is None:
            event["surfaceOp"] = "append"
        else:
            event["surfaceOp"] = {"op": "replace", "startSeq": self._head, "endSeq": self._head}
            event["sourceEventSeqs"] = [self._head]
        self._head = self._next
        return self._insert(anchor, event)

    def _insert(self, anchor: Row, event: Json) -> Row:
        seq, self._next = self._next, self._next + 1
        return Row(anchor.line, -1, {**event, "seq": seq})

    def _keep(self, row: Row, event: Json) -> Row:
        seq, self._next = self._next, self._next + 1
        self._map.add(row.event["seq"], seq)
        moved = renumbered(Row(row.line, row.origin, event), seq, self._map.get)
        operation = moved.get("surfaceOp")
        if isinstance(operation, dict):
            if operation.keys() != {"op", "start", "end"}:
                raise damaged(row, "a replacement needs op, start and end")
            start, end = operation["start"], operation["end"]
            moved["surfaceOp"] = {"op": operation["op"], "startSeq": start, "endSeq": end}
        return Row(row.line, row.origin, moved)


def _renamed(event: Json) -> Json:
    kind = event["type"]
    if kind in _RENAMED:
        return {**event, "type": _RENAMED[kind]}
    if kind == "agent-preset/selected" and event["data"].get("agentPreset") == "code":
        return {**event, "data": {**event["data"], "agentPreset": "ptc"}}
    return messages(event, _attributed) if kind in _ATTRIBUTED else event


def _attributed(message: Json) -> Json:
    source = message.get("source")
    if not isinstance(source, dict) or source.get("kind") != "plugin":
        return message
    if source.get("plugin") != "tools-code-mode":
        return message
    return {**message, "source": {**source, "plugin": "tools-ptc"}}
