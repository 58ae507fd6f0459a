"""What the events of an Inspect sample tell of the model's replies: usage, times, compactions."""

from collections.abc import Sequence
from typing import Any

import msgspec

from slicetape.formats.values import epoch_ms


class Reply(msgspec.Struct):
    """The message of a reply."""

    id: str | None = None


class Choice(msgspec.Struct):
    """One of the replies to a request."""

    message: Reply | None = None


class Output(msgspec.Struct):
    """What a model returned."""

    choices: list[Choice] | None = None
    usage: Any = None


class LoggedEvent(msgspec.Struct, omit_defaults=True):
    """An event of any kind, with the fields of model, tool and compaction events."""

    event: str = ""
    timestamp: str | float | None = None
    completed: Any = None
    id: Any = None
    model: Any = None
    tools: Any = None
    output: Output | str | None = None
    type: Any = None
    tokens_before: Any = None
    tokens_after: Any = None
    source: Any = None
    metadata: Any = None


def _time(value: Any) -> str | float | None:
    return value if isinstance(value, str | int | float) else None


class Replies:
    """What the events of a sample tell of each reply: its model event, and compactions before it.

    Replies are told by message id, by order where the log has no ids and as many model events
    as `replies`. `first` is the time of the first event, `answered` that of each call's result,
    `left` holds the compactions behind the last reply.
    """

    def __init__(self, events: Sequence[LoggedEvent], *, replies: int) -> None:
        self.first = next((t for e in events if (t := epoch_ms(e.timestamp)) is not None), None)
        self.answered = {
            event.id: epoch_ms(_time(event.completed) or event.timestamp)
            for event in events
            if event.event == "tool" and isinstance(event.id, str)
        }
        self._by_id: dict[str, LoggedEvent] = {}
        self._in_order: list[LoggedEvent] = []
        self._compactions: dict[int, list[LoggedEvent]] = {}
        waiting: list[LoggedEvent] = []
        for event in events:
            if event.event == "compaction":
                waiting.append(event)
            elif event.event == "model" and isinstance(event.output, Output):
                if not event.output.choices:
                    continue
                self._in_order.append(event)
                self._compactions[id(event)] = waiting
                waiting = []
                reply = event.output.choices[0].message
                if reply and reply.id:
                    self._by_id[reply.id] = event
        self.left = waiting
        self._ordered = len(self._in_order) == replies

    def of(self, message_id: str | None, number: int) -> LoggedEvent | None:
        """The model event of a reply, the `number`th one from 0."""
        if message_id in self._by_id:
            return self._by_id[message_id]
        return self._in_order[number] if self._ordered and not self._by_id else None

    def compactions(self, event: LoggedEvent) -> list[LoggedEvent]:
        """The compactions between the model event before `event` and this one."""
        return self._compactions[id(event)]
