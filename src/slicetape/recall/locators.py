"""The calls that recall prints, for this session or for another that a run was given."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from slicetape.log.events import FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class Locators:
    """Writes locators; `session` stands in each of them when it is not the caller's own."""

    session: str | None = None

    def turn(self, turn: int, view: Literal["dialogue", "full"]) -> str:
        """The call that returns the page of a turn."""
        return f'recall_turn({{"turn":"{turn}","view":"{view}"{self._tail()}}})'

    def result(self, seq: int, block: int | None = None) -> str:
        """The call that returns a result; `block` only where an event has several."""
        which = f',"block":{block}' if block else ""
        return (
            f'expand_result({{"seq":{seq},"formatVersion":{FORMAT_VERSION}{which}{self._tail()}}})'
        )

    def _tail(self) -> str:
        if self.session is None:
            return ""
        return f',"session":{msgspec.json.encode(self.session).decode()}'
