"""A session of events, recorded while an importer reads a transcript.

An importer says what happened in the order of the transcript; the recorder writes the events
that a live session would have: dense seqs, turns and steps, results inside the step of their
call. One step is held back until the next begins, because transcripts spread a response over
several records and put results between them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slicetape.formats.composer import Composer
from slicetape.formats.pending import Answer, Aside, Call, Route, Said, Step
from slicetape.formats.values import raw
from slicetape.log.events import Event
from slicetape.log.messages import NO_JSON, Block, Source, ToolCall
from slicetape.log.payloads import EndReason, Failure, Usage

__all__ = ["HUMAN", "Answer", "Recorder", "Route", "plugin"]

HUMAN = Source(kind="user")
"""The source of what a person, or a simulated person, wrote."""

_COMPLETED = EndReason(kind="completed")


def plugin(name: str, *, form: str | None = None) -> Source:
    """The source of user-role text that nobody typed; `name` says what wrote it."""
    return Source(kind="plugin", plugin=name, form=form)


class Recorder:
    """The events of one imported session, in the order of host sessions.

    Say what happened with `turn`, `note`, `step`, `say`, `call`, `result`, `keep` …, finish
    with `end`, and fetch what is settled with `take` as often as you like: only the open step
    and the messages that wait for one are held. Before each record, `at` sets the time.
    """

    def __init__(self, session: str, *, created_at: int = 0) -> None:
        self._created = created_at
        self._now = created_at
        self._composer = Composer(session, created_at=created_at)
        self._in_turn = False
        self._reason = _COMPLETED
        self._waiting: list[Said | Aside] = []
        self._step: Step | None = None
        self._used: dict[str, int] = {}
        self._route: Route | None = None
        self._system: tuple[Block, ...] | None = None
        self._prompt: tuple[Block, ...] | None = None

    @property
    def in_turn(self) -> bool:
        """Whether a turn is open."""
        return self._in_turn

    @property
    def in_step(self) -> bool:
        """Whether a response is still open."""
        return self._step is not None

    def at(self, line: int, time: int | None = None) -> None:
        """Set the time of what follows: epoch ms, or `created_at` plus the line number."""
        self._now = self._created + line if time is None else time

    def turn(
        self, content: tuple[Block, ...] | None, *, source: Source = HUMAN, id: str = ""
    ) -> None:
        """Open a turn with a message; None opens one that has no message of its own.

        The turn before it ends. A source other than `HUMAN` makes the turn automatic.
        """
        self.end()
        self._open_turn()
        if content is not None:
            self._waiting.append(Said(self._now, content, source, id))

    def note(self, content: tuple[Block, ...], *, source: Source = HUMAN, id: str = "") -> bool:
        """Add a user-role message to the open turn, where it was said.

        It stands after the results of the open step. Without an open turn it becomes an
        `x/note`, and the answer is False.
        """
        if self._in_turn:
            self._waiting.append(Said(self._now, content, source, id))
        else:
            self.keep("x/note", {"source": source.plugin or source.kind, "content": content})
        return self._in_turn

    def step(self, *, id: str = "", model: str = "", usage: Usage | None = None) -> None:
        """Begin a model response; the step before it is settled.

        Without an open turn, one without a message is opened. `model` changes the model of the
        route from here on.
        """
        self.settle()
        if not self._in_turn:
            self._open_turn()
        if model and (self._route is None or self._route.model != model):
            self._route = replace(self._route or Route("", ""), model=model)
        self._reason = _COMPLETED
        waiting, self._waiting = self._waiting, []
        system, self._system = self._system, None
        self._step = Step(self._now, id, self._route, waiting, system, usage=usage)

    def say(self, block: Block, *, state: dict[str, Any] | None = None) -> None:
        """Add a block to the open response; `state` is what the provider wants back with it.

        A signature is `{"signature": …}`, other opaque content a key of the provider's name.
        """
        step = self._open_step()
        step.blocks.append(block)
        step.states.append(state)

    def call(
        self, id: str, name: str, arguments: str, *, state: dict[str, Any] | None = None
    ) -> str:
        """Add a tool call to the open response and return the id it has in the session.

        An id that is empty or was used before in the session gets `#2`, `#3` … appended.
        """
        step = self._open_step()
        call = Call(self._now, self._unused(id), id, name, arguments)
        step.add(call)
        self.say(ToolCall(call.id, name, arguments), state=state)
        return call.id

    def result(self, call_id: str, answer: Answer) -> bool:
        """Answer a call of the open step: by id, or the first unanswered one if it is empty.

        A result that no open call asked for is kept as `x/orphan-result`; the answer is False.
        """
        call = self._step.take(call_id) if self._step else None
        if call is not None:
            call.answer, call.answered = answer, self._now
            return True
        data = {"callId": call_id, "isError": answer.is_error, "content": answer.content}
        self.keep("x/orphan-result", data)
        return False

    def usage(self, usage: Usage) -> None:
        """Set the usage of the open response, if one is open."""
        if self._step is not None:
            self._step.usage = usage

    def route(self, route: Route) -> None:
        """Name provider, model, options and context window of the responses that follow."""
        self._route = route

    def system(self, content: tuple[Block, ...]) -> None:
        """Name the system prompt of the responses that follow.

        It is the first node of the surface or replaces that node; where other messages came
        first it is kept as `x/system`.
        """
        if content != self._prompt:
            self._prompt = self._system = content

    def keep(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep what has no event of its own as an ignorable event; `kind` is `x/…`."""
        assert kind.startswith("x/")
        aside = Aside(self._now, kind, data)
        if self._waiting:
            self._waiting.append(aside)
        elif self._step is not None:
            self._step.asides.append(aside)
        else:
            self._composer.keep(aside)

    def stop(self, kind: str, *, message: str = "", code: str = "") -> None:
        """Say why the open turn ends: error, max-tokens, aborted (by the user) or interrupted.

        A later response in the same turn takes it back.
        """
        failure = Failure(message=message, code=code) if kind == "error" else None
        cause = raw({"kind": "user"}) if kind == "aborted" else NO_JSON
        self._reason = EndReason(kind=kind, error=failure, reason=cause)

    def cut(self) -> None:
        """Say that the open response was cancelled while it was being written."""
        if self._step is not None:
            self._step.interrupted = True

    def settle(self) -> None:
        """Close the open step: missing results are closed as unknown."""
        if self._step is not None:
            step, self._step = self._step, None
            self._composer.write_step(step)

    def end(self) -> None:
        """Close the open turn, if there is one."""
        self.settle()
        self._composer.write(self._waiting)
        self._waiting = []
        if self._in_turn:
            self._composer.close_turn(self._reason)
            self._in_turn = False

    def take(self) -> list[Event]:
        """The events that are final since the last call."""
        return self._composer.take()

    def _open_turn(self) -> None:
        self._composer.open_turn(self._now)
        self._in_turn = True
        self._reason = _COMPLETED

    def _open_step(self) -> Step:
        if self._step is None:
            self.step()
        assert self._step is not None
        return self._step

    def _unused(self, id: str) -> str:
        count = self._used.get(id, 0 if id else 1) + 1
        fresh = id if count == 1 else f"{id}#{count}"
        while fresh in self._used:
            count += 1
            fresh = f"{id}#{count}"
        self._used[id] = count
        self._used.setdefault(fresh, 1)
        return fresh
