"""Stream records: the deltas of one model call, runs of one block in one record."""

from typing import Any

from slicetape.log.upgrade.rows import PACKED, Json, Row, damaged

_DELTAS = {
    "text-delta": ("text-chunks", "text", frozenset({"type", "index", "text"})),
    "reasoning-delta": ("reasoning-chunks", "text", frozenset({"type", "index", "text"})),
    "tool-call-delta": (
        "tool-call-chunks",
        "argumentsDelta",
        frozenset({"type", "index", "id", "argumentsDelta"}),
    ),
}


class Stream:
    """The records of one attempt, extended delta by delta. No delta is joined with another."""

    def __init__(self) -> None:
        self.records: list[Json] = []
        self._last_time = 0

    def packed(self, row: Row) -> int:
        """Add a packed row; returns the time of its last member."""
        data, kind = row.data, row.kind
        record: Json = {"type": kind, "time0": row.event["time0"], "index": data["index"]}
        record["dt"] = list(data["dt"])
        record |= {key: data[key] for key in ("id", "name") if key in data}
        record[PACKED[kind]] = list(data[PACKED[kind]])
        return self._run(record)

    def chunk(self, row: Row) -> int:
        """Add one `assistant/chunk` event; returns its time."""
        chunk, time = row.data.get("chunk"), row.event["time"]
        if not isinstance(chunk, dict):
            raise damaged(row, "a chunk must be an object")
        record = _run_of_one(chunk, time)
        if record is not None:
            return self._run(record)
        self.records.append({"type": "chunk", "time": time, "chunk": chunk})
        self._last_time = time
        return int(time)

    def _run(self, record: Json) -> int:
        end: int = record["time0"] + sum(record["dt"])
        last = self.records[-1] if self.records else None
        if last is not None and _same_block(last, record):
            last["dt"].append(record["time0"] - self._last_time)
            last["dt"].extend(record["dt"])
            key = PACKED[record["type"]]
            last[key].extend(record[key])
        else:
            self.records.append(record)
        self._last_time = end
        return end


def _run_of_one(chunk: Json, time: int) -> Json | None:
    """A run with one member, or None for a chunk that no run can hold without loss."""
    tag: Any = chunk.get("type")
    if not isinstance(tag, str) or tag not in _DELTAS:
        return None
    kind, key, fields = _DELTAS[tag]
    if chunk.keys() - {"name"} != fields or ("name" in chunk and tag != "tool-call-delta"):
        return None
    if type(chunk[key]) is not str or type(chunk["index"]) is not int:
        return None
    identity = {name: chunk[name] for name in ("id", "name") if name in chunk}
    head = {"type": kind, "time0": time, "index": chunk["index"], "dt": []}
    return head | identity | {PACKED[kind]: [chunk[key]]}


def _same_block(a: Json, b: Json) -> bool:
    return a["type"] == b["type"] and all(
        a.get(key) == b.get(key) for key in ("index", "id", "name")
    )
