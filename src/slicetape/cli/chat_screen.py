"""What a chat prints while the agent works, line by line above the prompt."""

from collections.abc import Iterable
from typing import Any

import click

from slicetape.cli.activity import ending, lines_of, prepared_lines
from slicetape.cli.output import width
from slicetape.cli.text import visible, wrapped
from slicetape.log.events import Event, TurnEnd
from slicetape.log.payloads import EndReason, Failure
from slicetape.loop.deltas import BlockEnd, BlockStart, Delta, ReasoningDelta, TextDelta
from slicetape.loop.prestep import Prepared
from slicetape.surface import Session

_MARGIN = 2


class Screen:
    """Prints streamed text as it fills lines, calls as one line each, and what the policy hid."""

    def __init__(self, *, color: bool | None = None) -> None:
        self._color = color
        self._line = ""
        self._dim = False
        self._session: Session | None = None

    def follow(self, session: Session) -> None:
        """Print what is logged in this session from now on."""
        self._session = session
        session.listen(lambda event, _: self._event(session, event))

    def delta(self, delta: Delta) -> None:
        """Print text as it comes, reasoning dimmed."""
        match delta:
            case BlockStart():
                self._flush()
            case TextDelta():
                self._stream(delta.text, dim=False)
            case ReasoningDelta():
                self._stream(delta.text, dim=True)
            case BlockEnd():
                self._flush()
            case _:
                pass

    def prepared(self, prepared: Prepared) -> None:
        """Say what was sealed and folded, and how it comes back."""
        if self._session is not None:
            self.tell(prepared_lines(prepared, self._session.view), fg="cyan")

    def failed(self, failure: Failure, retry_in_ms: float | None) -> None:
        """Nothing: a retry is an event, and the last failure ends the turn."""

    def warning(self, text: str) -> None:
        """One line that is no part of the talk."""
        self.tell([f"warning: {text}"], fg="yellow")

    def ended(self, reason: EndReason | None) -> None:
        """Say why a turn ended when it did not simply complete."""
        self._flush()
        text = ending(reason) if reason else ""
        if text:
            self.tell([text], fg="yellow")

    def tell(self, lines: Iterable[str], **style: Any) -> None:
        """Print lines of our own."""
        self._flush()
        for line in lines:
            click.secho(visible(line), color=self._color, **style)

    def _event(self, session: Session, event: Event) -> None:
        if session is not self._session:
            return
        self.tell(lines_of(event), dim=True)
        if isinstance(event, TurnEnd):
            self.ended(event.data.reason)

    def _stream(self, text: str, *, dim: bool) -> None:
        if dim != self._dim:
            self._flush()
            self._dim = dim
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            self._print(wrapped(line, self._width()))
        pieces = wrapped(self._line, self._width())
        self._print(pieces[:-1])
        self._line = pieces[-1]

    def _flush(self) -> None:
        if self._line:
            self._print([self._line])
            self._line = ""

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            click.secho(visible(line), color=self._color, dim=self._dim or None)

    @staticmethod
    def _width() -> int:
        return max(20, width() - _MARGIN)
