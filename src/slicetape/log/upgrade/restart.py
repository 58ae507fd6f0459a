"""A restart that skipped the end of a turn: where the missing `turn/end` belongs.

Such a log shows a message queued for the next turn and then that turn's start, while the
turn before is open without an open step. Anything else is left as it is.
"""

from slicetape.log.upgrade.rows import Json


class Restarts:
    """Watches the events in order and closes the turn that a restart left open."""

    def __init__(self) -> None:
        self._turn: int | None = None
        self._in_step = False
        self._queued = False

    def closing(self, event: Json) -> Json | None:
        """The `turn/end` to put before `event`, with its seq; None nearly always."""
        kind, data = event["type"], event["data"]
        missing = None
        if kind == "turn/start":
            number = data.get("turn")
            if (
                self._queued
                and self._turn is not None
                and not self._in_step
                and number == self._turn + 1
            ):
                missing = self._turn
            self._turn = number if type(number) is int else None
            self._in_step = False
        elif kind == "turn/end":
            self._turn = None
            self._in_step = False
        elif kind == "step/start":
            self._in_step = True
        elif kind == "step/end":
            self._in_step = False
        self._queued = (
            kind == "agent/inbox/spliced"
            and data.get("target") == "next-turn"
            and bool(data.get("inserted"))
        )
        if missing is None:
            return None
        reason = {"turn": missing, "reason": {"kind": "interrupted"}}
        return {"type": "turn/end", "seq": event["seq"], "time": event["time"], "data": reason}
