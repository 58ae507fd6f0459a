"""Small logs of every format, as rows, and what the migrations make of them."""

import json
from collections.abc import Sequence
from typing import Any

from slicetape.log.upgrade import UpgradeReport, export_v4, header_3, upgrade

Event = dict[str, Any]


def header(version: int, **more: Any) -> Event:
    head = {"type": "session", "version": version, "id": "s", "createdAt": 5, "delegationDepth": 0}
    if version >= 2:
        head["isSeeded"] = False
    return head | more


def numbered(events: Sequence[Event]) -> list[Event]:
    out = []
    seq = 0
    for event in events:
        if event["type"].endswith("-chunks"):
            key = "args" if event["type"].startswith("tool") else "texts"
            out.append({"seq0": seq, "time0": 100 + seq, **event})
            seq += len(event["data"][key])
        else:
            out.append({"seq": seq, "time": 100 + seq, **event})
            seq += 1
    return out


def upgraded(version: int, *events: Event, **more: Any) -> list[Event]:
    head = header(version, **more)
    lines = [json.dumps(row).encode() for row in [head, *numbered(events)]]
    made = [json.loads(line) for line in upgrade(lines)]
    assert made[0] == header_3(head)
    assert [event["seq"] for event in made[1:]] == list(range(len(made) - 1))
    assert made[-1]["type"] == "x/import"
    return made[1:-1]


def e(kind: str, data: Event | None = None, **more: Any) -> Event:
    return {"type": kind, "data": {} if data is None else data, **more}


def step(kind: str, turn: int = 1, number: int = 1) -> Event:
    return e(f"step/{kind}", {"turn": turn, "step": number})


def turn(kind: str, number: int = 1, **more: Any) -> Event:
    reason = {"reason": {"kind": "completed"}} if kind == "end" else {}
    return e(f"turn/{kind}", {"turn": number, **reason, **more})


def delta(text: str, number: int = 1) -> Event:
    chunk = {"type": "text-delta", "index": 0, "text": text}
    return e("assistant/chunk", {"turn": 1, "step": number, "chunk": chunk})


def finish(kind: str = "stop", number: int = 1) -> Event:
    chunk = {"type": "finish", "reason": {"kind": kind}}
    return e("assistant/chunk", {"turn": 1, "step": number, "chunk": chunk})


def answer(sources: list[Any] | None, number: int = 1) -> Event:
    message = {"id": "a", "role": "assistant", "content": [], "source": {"kind": "model"}}
    more = {} if sources is None else {"sourceEventSeqs": sources}
    data = {"turn": 1, "step": number, "message": message}
    return e("assistant/message", data, surfaceOp="append", **more)


def human(identity: str = "u", **more: Any) -> Event:
    content = [{"type": "text", "text": "see seq 3"}]
    data = {"id": identity, "role": "user", "content": content, "source": {"kind": "user"}}
    return e("user/message", data, **({"surfaceOp": "append"} | more))


def kinds(events: Sequence[Event]) -> list[str]:
    return [event["type"] for event in events]


def first(events: Sequence[Event], kind: str) -> Event:
    return next(event for event in events if event["type"] == kind)


OPEN = [turn("start"), step("start")]


def lines(version: int, events: Sequence[Event]) -> list[bytes]:
    head = {"type": "session", "version": version, "id": "s", "createdAt": 1, "isSeeded": False}
    rows = [head | {"delegationDepth": 0}]
    rows += [{"seq": seq, "time": seq, **event} for seq, event in enumerate(events)]
    return [json.dumps(row, separators=(",", ":")).encode() for row in rows]


def lowered(*events: Event, report: UpgradeReport | None = None) -> list[Event]:
    return [json.loads(line) for line in upgrade(lines(4, events), report=report)][1:]


def raised(*events: Event) -> list[Event]:
    return [json.loads(line) for line in export_v4(lines(3, events))][1:]


def said(source: Event, role: str = "user", content: list[Any] | None = None) -> Event:
    return {"id": "m", "role": role, "content": content or [], "source": source}


def user(source: Event, **more: Any) -> Event:
    return e("user/message", said(source), surfaceOp="append", **more)
