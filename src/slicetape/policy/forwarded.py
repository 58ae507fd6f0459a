"""Recalled text that running code hands on: a result that forwards it stays whole."""

import json
from collections.abc import Callable

from slicetape.log.events import Dispatch
from slicetape.log.locator import is_recall_tool
from slicetape.log.messages import Text
from slicetape.surface.view import View

Behind = Callable[[str], str | None]
"""The full text that a preview in the log stands for; None when it is not known."""


class Forwarded:
    """Texts that recall tools returned to running code, by the seq of the call that runs it."""

    __slots__ = ("_behind", "_scanned", "_texts")

    def __init__(self, behind: Behind = lambda _: None) -> None:
        self._behind = behind
        self._scanned = 0
        self._texts: dict[int, list[str]] = {}

    def advance(self, view: View) -> None:
        """Take in what was logged since."""
        for seq in range(self._scanned, view.scanned):
            event = view.events[seq]
            if isinstance(event, Dispatch) and is_recall_tool(event.data.name):
                root = view.calls.roots.get(seq)
                if root is not None and not event.data.is_error:
                    for block in event.data.content:
                        if isinstance(block, Text):
                            self.remember(root.seq, self._behind(block.text) or block.text)
        self._scanned = view.scanned

    def remember(self, call: int, text: str) -> None:
        """A recall tool returned `text` to the code that the call logged at `call` runs."""
        if text:
            self._texts.setdefault(call, []).append(text)

    def holds(self, call: int, text: str) -> bool:
        """Whether `text` hands on what was recalled within this call, as it is or as JSON."""
        return any(
            form in text
            for known in self._texts.get(call, ())
            if len(known) <= len(text)
            for form in _forms(known)
        )

    def forget(self, call: int) -> None:
        """The result of this call was decided on."""
        self._texts.pop(call, None)


def _forms(text: str) -> tuple[str, ...]:
    """The text, and the JSON strings that programs write for it."""
    return text, json.dumps(text, ensure_ascii=False), json.dumps(text)
