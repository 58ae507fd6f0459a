"""An advisory notice when a model repeats one call over and over."""

from collections.abc import Mapping, Sequence
from typing import Any

from slicetape.log.messages import Message, Source, Text
from slicetape.loop.protocols import Call, Ids, Output

AT = frozenset({3, 5, 8})


class RepeatReminder:
    """Counts equal calls in a row; a new human message starts the count again."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._last: tuple[str, str] | None = None
        self._count = 0
        self._due = 0

    def before_step(self, turn: int, step: int, claimed: Sequence[Message]) -> Sequence[Message]:
        """A notice when the count has reached 3, 5 or 8."""
        if any(message.source.kind == "user" for message in claimed):
            self._last, self._count, self._due = None, 0, 0
            return ()
        if not self._due or self._last is None:
            return ()
        count, self._due = self._due, 0
        text = (
            f"You have now called {self._last[0]} {count} times in a row with the same arguments. "
            "If the answer does not change, try something else or say what stands in the way."
        )
        source = Source("plugin", "slicetape:repeat-reminder", "notice", summary="repeated call")
        return (Message(self._ids(), "user", (Text(text),), source),)

    def after_call(self, call: Call, arguments: Mapping[str, Any] | str, output: Output) -> None:
        """Count a call that was answered."""
        said = (call.name, call.raw)
        self._count = self._count + 1 if said == self._last else 1
        self._last = said
        if self._count in AT:
            self._due = self._count
