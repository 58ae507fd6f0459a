"""The calls that recall prints, for this session or for another that a run was given."""

from dataclasses import dataclass
from typing import Literal

from slicetape.log.locator import result_locator, turn_locator


@dataclass(frozen=True, slots=True)
class Locators:
    """Writes locators; `session` stands in each of them when it is not the caller's own."""

    session: str | None = None

    def turn(self, turn: int, view: Literal["dialogue", "full"]) -> str:
        """The call that returns the page of a turn."""
        return turn_locator(turn, view, session=self.session)

    def result(self, seq: int, block: int | None = None) -> str:
        """The call that returns a result; `block` only where an event has several."""
        return result_locator(seq, block=block, session=self.session)
