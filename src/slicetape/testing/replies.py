"""What a scripted model says: replies in order, replies by rule, or those of a recorded session."""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from slicetape.errors import UsageError
from slicetape.log.events import AssistantMessage, Event
from slicetape.log.messages import Reasoning, Text, ToolCall

FAULTS = (
    "429", "500", "529", "400", "overflow", "empty", "cut", "cut-call", "malformed", "hang",
    "slow-first", "slow", "duplicate-ids", "empty-id", "no-name",
)  # fmt: skip
"""What can go wrong with a reply: an HTTP status, or what happens to its stream."""


WHOLE = frozenset({"", "slow-first", "slow", "duplicate-ids", "empty-id", "no-name"})
"""Faults with which an answer arrives all the same."""


class Asked(msgspec.Struct, frozen=True):
    """One call of a reply. `args` may be a text that is no JSON."""

    name: str
    args: Any = msgspec.field(default_factory=dict)
    id: str | None = None

    @property
    def raw(self) -> str:
        """The arguments as a model writes them."""
        return self.args if isinstance(self.args, str) else json.dumps(self.args)


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer. `when` is a text that the last message must hold; `finish` is `stop`,
    `tool_calls` or `length`, by default what fits; `fault` is one of `FAULTS`.
    """

    text: str = ""
    reasoning: str = ""
    tools: tuple[Asked, ...] = ()
    finish: str = ""
    fault: str = ""
    when: str = ""

    def __post_init__(self) -> None:
        if self.fault and self.fault not in FAULTS:
            raise ValueError(f"no fault {self.fault!r}; there are {', '.join(FAULTS)}")

    @property
    def ending(self) -> str:
        """Why the answer ends."""
        return self.finish or ("tool_calls" if self.tools else "stop")


@dataclass(slots=True)
class Script:
    """Replies to requests: the first rule whose `when` holds, else the next of the others.

    When nothing is left, `forever` answers with a sentence that says how often it was asked.
    """

    replies: deque[Reply]
    rules: tuple[Reply, ...] = ()
    faults: dict[int, str] = field(default_factory=dict)
    count: int = 0

    @classmethod
    def of(cls, rows: Iterable[Reply]) -> "Script":
        """A script of replies, those with `when` as rules."""
        rows = list(rows)
        return cls(
            deque(row for row in rows if not row.when), tuple(row for row in rows if row.when)
        )

    def next(self, last: str) -> Reply:
        """The reply to a request whose last message says `last`."""
        self.count += 1
        fault = self.faults.pop(self.count, "")
        reply = self._due(last)
        if fault not in WHOLE and self.replies and reply is self.replies[0]:
            return _faulty(reply, fault)  # it is asked for again
        if self.replies and reply is self.replies[0]:
            self.replies.popleft()
        return _faulty(reply, fault) if fault else reply

    def _due(self, last: str) -> Reply:
        for rule in self.rules:
            if rule.when in last:
                return rule
        if self.replies:
            return self.replies[0]
        return Reply(text=f"This is the answer to request {self.count}; my script has ended.")


def _faulty(reply: Reply, fault: str) -> Reply:
    tools = reply.tools
    if fault == "cut-call" and not tools:
        tools = (Asked("read", {"file_path": "a-file-that-is-named-here.txt"}),)
    return msgspec.structs.replace(reply, fault=fault, tools=tools)


def read_script(path: Path) -> list[Reply]:
    """The replies of a JSON list or of JSON Lines. UsageError says where it is wrong."""
    data = path.read_bytes()
    try:
        if data.lstrip().startswith(b"["):
            return msgspec.json.decode(data, type=list[Reply])
        return [msgspec.json.decode(line, type=Reply) for line in data.splitlines() if line.strip()]
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UsageError(f"{path}: no script of replies: {error}") from None


def recorded(events: Sequence[Event]) -> list[Reply]:
    """The answers of a session, in its order."""
    found = []
    for event in events:
        if isinstance(event, AssistantMessage) and event.is_original:
            blocks = event.data.message.content
            found.append(
                Reply(
                    text="".join(b.text for b in blocks if isinstance(b, Text)),
                    reasoning="".join(b.text for b in blocks if isinstance(b, Reasoning)),
                    tools=tuple(
                        Asked(b.name, b.arguments, b.id) for b in blocks if isinstance(b, ToolCall)
                    ),
                )
            )
    return [reply for reply in found if reply.text or reply.tools]


def with_ids(reply: Reply, number: int) -> Reply:
    """The reply with an id for each call that has none, and with the faults of ids applied."""
    tools: list[Asked] = []
    for place, asked in enumerate(reply.tools, 1):
        id = asked.id if asked.id is not None else f"call_{number}_{place}"
        if reply.fault == "empty-id":
            id = ""
        elif reply.fault == "duplicate-ids":
            id = f"call_{number}"
        name = "" if reply.fault == "no-name" else asked.name
        tools.append(Asked(name, asked.args, id))
    return msgspec.structs.replace(reply, tools=tuple(tools))


def faults_of(texts: Iterable[str]) -> Mapping[int, str]:
    """Faults as `N=KIND`: the Nth request fails so. UsageError for anything else."""
    found: dict[int, str] = {}
    for text in texts:
        number, equals, kind = text.partition("=")
        if not equals or not number.isdecimal() or kind not in FAULTS:
            raise UsageError(
                f"{text[:60]!r} is no fault; write N=KIND, KIND of {', '.join(FAULTS)}"
            )
        found[int(number)] = kind
    return found
