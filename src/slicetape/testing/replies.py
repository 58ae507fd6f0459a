"""What a scripted model says: replies in order, replies by rule, or those of a recorded session."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from slicetape.errors import UsageError
from slicetape.log.events import AssistantMessage, Event
from slicetape.log.messages import Reasoning, Text, ToolCall

FAULTS: Mapping[str, str] = {
    "overflow": "the prompt does not fit into the window",
    "empty": "an answer without anything in it",
    "cut": "the connection breaks inside a text",
    "cut-call": "the connection breaks inside a call",
    "malformed": "a part of the stream is no JSON",
    "hang": "no byte ever comes",
    "stall": "nothing comes behind the first words",
    "slow-first": "two seconds before the first byte",
    "slow": "a fifth of a second between parts",
    "duplicate-ids": "all calls of the answer have one id",
    "empty-id": "the calls have empty ids",
    "no-name": "the calls have no name",
}
"""What can go wrong with a reply, besides an HTTP status from 400 to 599 (`429`)."""

WHOLE = frozenset({"", "slow-first", "slow", "duplicate-ids", "empty-id", "no-name"})
"""Faults with which an answer arrives all the same."""


def is_fault(kind: str) -> bool:
    """Whether `kind` is one of `FAULTS` or a status of a refusal."""
    return kind in FAULTS or status_of(kind) is not None


def status_of(kind: str) -> int | None:
    """The status that a fault is, if it is one."""
    if len(kind) == 3 and kind.isascii() and kind.isdigit() and 400 <= int(kind) < 600:
        return int(kind)
    return None


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a reply. `args` may be a text that is no JSON."""

    name: str
    args: Any = msgspec.field(default_factory=dict)
    id: str | None = None

    @property
    def raw(self) -> str:
        """The arguments as a model writes them."""
        return self.args if isinstance(self.args, str) else json.dumps(self.args)


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer. `when` is a text that what was said since the last answer must hold; `finish`
    is `stop`, `tool_calls` or `length`, by default what fits; `fault` is one of `FAULTS` or an
    HTTP status.
    """

    text: str = ""
    reasoning: str = ""
    tools: tuple[Asked, ...] = ()
    finish: str = ""
    fault: str = ""
    when: str = ""

    def __post_init__(self) -> None:
        if self.fault and not is_fault(self.fault):
            raise ValueError(f"no fault {self.fault[:40]!r}; there are {_kinds()}")
        if self.finish not in ("", "stop", "tool_calls", "length"):
            raise ValueError(f"no finish {self.finish[:40]!r}; write stop, tool_calls or length")

    @property
    def ending(self) -> str:
        """Why the answer ends."""
        return self.finish or ("tool_calls" if self.tools else "stop")

    @property
    def said(self) -> str:
        """All that it says, without ids."""
        return self.reasoning + self.text + "".join(one.name + one.raw for one in self.tools)


Otherwise = Callable[[Mapping[str, Any]], Reply]
"""The reply to a request, of which it gets the body."""


@dataclass(slots=True)
class Script:
    """Replies to requests: the first rule whose `when` holds, else the next of the others.

    `faults` are for requests by number, from 1: a request that gets no whole answer takes none of
    the replies. When nothing is left, `otherwise` answers, or a sentence that says so.
    """

    replies: deque[Reply]
    rules: tuple[Reply, ...] = ()
    faults: dict[int, str] = field(default_factory=dict)
    count: int = 0
    otherwise: Otherwise | None = None

    @classmethod
    def of(cls, rows: Iterable[Reply], *, otherwise: Otherwise | None = None) -> "Script":
        """A script of replies, those with `when` as rules."""
        rows = list(rows)
        return cls(
            deque(row for row in rows if not row.when),
            tuple(row for row in rows if row.when),
            otherwise=otherwise,
        )

    def next(self, last: str, body: Mapping[str, Any] | None = None) -> Reply:
        """The reply to a request; `last` is what was said since the last answer."""
        self.count += 1
        fault = self.faults.pop(self.count, "")
        reply = self._due(last, body or {})
        if fault in WHOLE and self.replies and reply is self.replies[0]:
            self.replies.popleft()
        return _faulty(reply, fault) if fault else reply

    def _due(self, last: str, body: Mapping[str, Any]) -> Reply:
        for rule in self.rules:
            if rule.when in last:
                return rule
        if self.replies:
            return self.replies[0]
        if self.otherwise is not None:
            return self.otherwise(body)
        return Reply(text=f"This is the answer to request {self.count}; my script has ended.")


def _faulty(reply: Reply, fault: str) -> Reply:
    tools = reply.tools
    if fault == "cut-call" and not tools:
        tools = (Asked("read", {"file_path": "a-file-that-is-named-here.txt"}),)
    return msgspec.structs.replace(reply, fault=fault, tools=tools)


def read_script(path: Path) -> list[Reply]:
    """The replies of a JSON list or of JSON Lines. UsageError says where it is wrong."""
    data = path.read_bytes()
    if data.lstrip().startswith(b"["):
        rows: list[Reply] = _decoded(data, list[Reply], str(path))
        return rows
    return [
        _decoded(line, Reply, f"{path}:{number}")
        for number, line in enumerate(data.splitlines(), 1)
        if line.strip()
    ]


def _decoded(data: bytes, kind: Any, where: str) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(f"{where}: no reply of a script: {error}") from None


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
        counts = number.isascii() and number.isdecimal() and 0 < len(number) < 10 and int(number)
        if not equals or not counts or not is_fault(kind):
            raise UsageError(f"{text[:60]!r} is no fault; write N=KIND, KIND of {_kinds()}")
        found[int(number)] = kind
    return found


def _kinds() -> str:
    return f"{', '.join(FAULTS)}, or a status from 400 to 599"
