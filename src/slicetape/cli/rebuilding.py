"""The requests of a session, built again as they were at their steps, and judged.

Each is linted and held against the one before it at the price of what changed since.
"""

from collections.abc import Sequence

from slicetape.cli.problems import Report
from slicetape.cli.target import view_only_from
from slicetape.cli.text import counted
from slicetape.errors import InvalidEvent
from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    CompactionPrune,
    Event,
    Replace,
    RequestHeader,
    SystemMessage,
    ToolResult,
    UserMessage,
    is_entry,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Reasoning, ToolCall
from slicetape.surface import Edit, View, message_at
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.fragment import Fragment, Wire
from slicetape.wire.lint import CHAT, MESSAGES, Rules
from slicetape.wire.lint_edits import IncrementalLint
from slicetape.wire.openai_chat import ChatWire
from slicetape.wire.prefix import HEAD, Break, Step
from slicetape.wire.prefix_edits import IncrementalPrefix

_EMPTY = Fragment("")


def check_requests(log: SessionLog, report: Report) -> None:
    """Note what is wrong with the surface, and with every request that was sent from it."""
    _Requests(log, report).check()


class _Requests:
    """Builds every request again, in order, as it was at its step."""

    def __init__(self, log: SessionLog, report: Report) -> None:
        self._log = log
        self._report = report
        self._view = View(log.events)
        self._wire, rules = _wire(log.events)
        self._wants_reasoning = _is_deepseek(log.events)
        self._lint = IncrementalLint(rules)
        self._prefix = IncrementalPrefix(self._wire)
        self._head = b""
        self._edits: list[Event] = []  # what changed the surface since the last request
        self._host_rewrites = 0
        self._known = 0  # problems of the request before
        self._bare: list[int] = []  # messages with calls and without reasoning
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
                f"the first at seq {self._bare[0]}; a provider that wants it back may refuse them"
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
        if self._wants_reasoning and _is_bare(event):
            self._bare.append(event.seq)
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
        self._lint_request()
        self._edits.clear()

    def _lint_request(self) -> None:
        """Note problems that no request before had; listing them walks the whole request."""
        moved = any(isinstance(event.surface_op, Replace) for event in self._edits)
        count = self._lint.count
        if count and (moved or count != self._known):
            for problem in self._lint.problems():
                seq = self._view.surface.nodes[problem.position]
                key = (problem.rule, seq, problem.text)
                if key not in self._seen:
                    self._seen.add(key)
                    self._report.problem(seq, problem.rule, problem.text)
        self._known = count
        self._lint.sent()

    def _judge(self, broken: Break, event: Event) -> None:
        """A break is a problem unless the host rewrote history, which it may."""
        if broken.position == HEAD or any(map(self._by_host, self._edits)):
            self._host_rewrites += 1
            return
        seq = event.seq if broken.seq is None else broken.seq
        self._report.problem(seq, "prefix", f"the request for seq {event.seq} changes {broken}")

    def _by_host(self, event: Event) -> bool:
        """Whether the event is a rewrite that no policy of ours makes."""
        if not isinstance(event.surface_op, Replace) or is_entry(event):
            return False
        if isinstance(event, ToolResult):  # a host announces each result that it prunes
            return isinstance(self._log.events[event.seq - 1], CompactionPrune)
        return isinstance(event, SystemMessage | UserMessage)


def _wire(events: Sequence[Event]) -> tuple[Wire, Rules]:
    """The wire that carries what was recorded, and its rules.

    Whether reasoning is wanted back is not among them: a request has what was recorded.
    """
    for event in events:
        if isinstance(event, AssistantMessage):
            source = event.data.message.source
            if b'"signature"' in bytes(source.replay_state):
                return MessagesWire(), MESSAGES
    return ChatWire(), CHAT


def _is_deepseek(events: Sequence[Event]) -> bool:
    return any(
        isinstance(event, AssistantMessage)
        and "deepseek" in (event.data.message.source.model or "").lower()
        for event in events
    )


def _is_bare(event: Event) -> bool:
    """Whether the event is a message with calls and without reasoning."""
    if not isinstance(event, AssistantMessage):
        return False
    kinds = {type(block) for block in event.data.message.content}
    return ToolCall in kinds and Reasoning not in kinds
