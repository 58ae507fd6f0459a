"""Everything that can be wrong with a session: its log, its surface, its requests, its blobs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slicetape.cli.pictures import Pictures, named_in
from slicetape.cli.target import Target, view_only_from
from slicetape.cli.text import counted
from slicetape.errors import DamagedLog, InvalidEvent, LogError
from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    Event,
    Replace,
    RequestHeader,
    SystemMessage,
    ToolResult,
    UserMessage,
    is_entry,
)
from slicetape.log.log import SessionLog
from slicetape.log.rules import Rules as TurnRules
from slicetape.log.spill import spill_rows
from slicetape.surface import Edit, View, message_at
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.fragment import Fragment, Wire
from slicetape.wire.lint import CHAT, DEEPSEEK, MESSAGES, Rules
from slicetape.wire.lint_edits import IncrementalLint
from slicetape.wire.openai_chat import ChatWire
from slicetape.wire.prefix import HEAD, Break, Step
from slicetape.wire.prefix_edits import IncrementalPrefix

_EMPTY = Fragment("")
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `seq` is None where no event is to blame."""

    seq: int | None
    rule: str
    text: str


@dataclass(slots=True)
class Report:
    """What a check of one session found. `notes` are facts that are no problem."""

    session: str
    events: int = 0
    requests: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def problem(self, seq: int | None, rule: str, text: str) -> None:
        """Note one problem."""
        if len(self.problems) < _MOST:
            self.problems.append(Problem(seq, rule, text))

    def shape(self) -> dict[str, object]:
        """The report as programs read it."""
        return {
            "session": self.session,
            "events": self.events,
            "ok": self.ok,
            "problems": [
                {"seq": found.seq, "rule": found.rule, "text": found.text}
                for found in self.problems
            ],
            "requests_checked": self.requests,
            "notes": self.notes,
        }


def check(found: Target, *, home: Path | None = None) -> Report:
    """Check one session from its first event to its last, and the pictures of it in `home`."""
    log = found.log
    report = Report(found.id, events=len(log.events))
    if found.damage:
        report.problem(len(log.events), "damage", found.damage)
    report.notes += found.notes
    _check_turns(log.events, report)
    _Requests(log, report).check()
    _check_spills(log, report)
    if home is not None:
        _check_pictures(log.events, Pictures(home), report)
    return report


def _check_turns(events: Sequence[Event], report: Report) -> None:
    rules = TurnRules()
    for event in events:
        try:
            rules.check(event)
        except InvalidEvent as error:
            report.problem(event.seq, "turns", str(error))
        rules.advance(event)
    if rules.turn:
        report.notes.append(f"turn {rules.turn} is open: the session runs, or ended by a crash")


def _check_spills(log: SessionLog, report: Report) -> None:
    seen: set[str] = set()
    for event in log.events:
        if not isinstance(event, ToolResult):
            continue
        for row in spill_rows(event.data.meta):
            if row.sha256 in seen:
                continue
            seen.add(row.sha256)
            try:
                log.blobs.get(row.sha256)
            except DamagedLog as error:
                report.problem(event.seq, "blob-changed", str(error))
            except LogError as error:
                report.problem(event.seq, "blob-missing", f"{error}: {row.sha256[:80]}")


def _check_pictures(events: Sequence[Event], pictures: Pictures, report: Report) -> None:
    gone = 0
    seen: set[str] = set()
    for event in events:
        for sha256 in named_in(event):
            if sha256 in seen:
                continue
            seen.add(sha256)
            state = pictures.state(sha256)
            gone += state == "gone"
            if state == "changed":
                report.problem(event.seq, "blob-changed", f"the bytes of picture {sha256} changed")
    if gone:
        report.notes.append(f"{counted(gone, 'picture')} named here and not kept in this home")


class _Requests:
    """Builds every request again, in order, as it was at its step."""

    def __init__(self, log: SessionLog, report: Report) -> None:
        self._log = log
        self._report = report
        self._view = View(log.events)
        self._wire, rules = _wire(log.events)
        self._lint = IncrementalLint(rules)
        self._prefix = IncrementalPrefix(self._wire)
        self._head = b""
        self._edits: list[Event] = []  # what changed the surface since the last request
        self._host_rewrites = 0
        self._bare: set[int] = set()
        self._seen: set[tuple[str, int, str]] = set()

    def check(self) -> None:
        stop = view_only_from(self._log)
        for event in self._log.events:
            if isinstance(event, RequestHeader):
                self._head = bytes(event.data.header.tools)
            if isinstance(event, AssistantMessage | AssistantAttempt) and event.is_original:
                self._ask(event, stop)
            if not self._advance(event):
                return
        notes = self._report.notes
        if self._host_rewrites:
            notes.append(
                f"{counted(self._host_rewrites, 'request')} behind a rewrite by the host itself "
                "(compaction, pruning, another system prompt or other tools)"
            )
        if self._bare:
            notes.append(
                f"{counted(len(self._bare), 'message')} with calls and no recorded reasoning, "
                f"the first at seq {min(self._bare)}; a provider that wants it back may refuse them"
            )

    def _advance(self, event: Event) -> bool:
        try:
            self._view.check(event)
        except InvalidEvent as error:
            self._report.problem(event.seq, "surface", f"{error}; requests behind it not checked")
            return False
        edit = self._view.advance(event)
        if edit is not None:
            self._edit(event, edit)
        return True

    def _edit(self, event: Event, edit: Edit) -> None:
        message = message_at(event)
        fragment = self._wire.fragment(message) if message else _EMPTY
        start, end = edit.position, edit.position + len(edit.removed)
        self._lint.replace(start, end, (fragment,))
        self._prefix.replace(start, end, (fragment,))
        self._edits.append(event)

    def _ask(self, event: AssistantMessage | AssistantAttempt, stop: int | None) -> None:
        if stop is None or event.seq < stop:
            self._send(event)

    def _send(self, event: AssistantMessage | AssistantAttempt) -> None:
        self._report.requests += 1
        view = self._view
        tape = view.surface.position(view.entries[-1]) + 1 if view.entries else 0
        step = Step(
            first_in_turn=event.data.step == 1,
            tape=tape,
            head=self._head,
            cause=lambda position: view.surface.nodes[position],
        )
        broken = self._prefix.sent(step)
        if broken is not None and broken.kind != "seal":
            self._judge(broken, event)
        if self._lint.count:
            for problem in self._lint.problems():
                seq = view.surface.nodes[problem.position]
                key = (problem.rule, seq, problem.text)
                if problem.rule == "missing-reasoning":  # the wire sends what was recorded
                    self._bare.add(seq)
                elif key not in self._seen:
                    self._seen.add(key)
                    self._report.problem(seq, problem.rule, problem.text)
        self._lint.sent()
        self._edits.clear()

    def _judge(self, broken: Break, event: Event) -> None:
        """A break is a problem unless the host rewrote history, which it may."""
        if broken.position == HEAD or any(map(_by_host, self._edits)):
            self._host_rewrites += 1
            return
        seq = event.seq if broken.seq is None else broken.seq
        self._report.problem(seq, "prefix", f"the request for seq {event.seq} changes {broken}")


def _by_host(event: Event) -> bool:
    """Whether the event is a rewrite that no policy of ours makes."""
    if not isinstance(event.surface_op, Replace):
        return False
    if isinstance(event, SystemMessage | ToolResult):
        return True
    return isinstance(event, UserMessage) and not is_entry(event)


def _wire(events: Sequence[Event]) -> tuple[Wire, Rules]:
    """The wire that carries what was recorded, and its rules."""
    models = set()
    for event in events:
        if isinstance(event, AssistantMessage):
            source = event.data.message.source
            if b'"signature"' in bytes(source.replay_state):
                return MessagesWire(), MESSAGES
            models.add((source.model or "").lower())
    deepseek = any("deepseek" in model for model in models)
    return ChatWire(), DEEPSEEK if deepseek else CHAT
