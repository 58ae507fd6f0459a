"""What a scripted model answers to a request, and what that costs; knows nothing of connections."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slicetape.testing.accounting import Account
from slicetape.testing.answers import Answer
from slicetape.testing.improvising import spoken
from slicetape.testing.pieces import answer_piece
from slicetape.testing.refusals import WIRES, Dialect, Refusal, checked, injected, too_long
from slicetape.testing.replies import Reply, Script, status_of, with_ids

CACHES: Mapping[Dialect, str] = {
    "deepseek": "deepseek",
    "openai": "openai-before-5.6",
    "anthropic": "anthropic-5m-1024",
}
"""The cache rules by which each dialect bills when nobody chose others."""

_TOO_DEEP = Refusal(400, "the body is nested too deeply", invalid=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Billing:
    """How tokens are counted and billed: a counter, the rules of caches, and a window.

    `caches` names rules for dialects that are not billed by those of `CACHES`; `window` is the
    most tokens of a prompt, None takes any.
    """

    tokens: str = "bytes"
    caches: Mapping[Dialect, str] = field(default_factory=dict)
    window: int | None = None


class Speaker:
    """Answers requests of every dialect by one script, each dialect on an account of its own."""

    def __init__(self, script: Script, billing: Billing | None = None) -> None:
        """PriceError when `billing` names rules or a counter that are not there."""
        billing = billing or Billing()
        self.script = script
        self.accounts = {
            dialect: Account(WIRES[dialect], cache, billing.tokens)
            for dialect, cache in {**CACHES, **billing.caches}.items()
        }
        self.count = 0
        self._window = billing.window
        self._refused = self._invalid = 0

    def answer(
        self, dialect: Dialect, body: bytes, script: Script | None = None
    ) -> Answer | Refusal:
        """The answer to a request, or why it gets none; `script` stands in for the own one."""
        self.count += 1
        try:
            answer = self._answer(dialect, body, script or self.script)
        except RecursionError:
            answer = _TOO_DEEP
        if isinstance(answer, Refusal):
            self._refused += 1
            self._invalid += answer.invalid
        return answer

    def _answer(self, dialect: Dialect, body: bytes, script: Script) -> Answer | Refusal:
        asked = checked(dialect, body)
        if isinstance(asked, Refusal):
            return asked
        reply = with_ids(script.next(spoken(asked), asked), self.count)
        if refusal := self._refusal(dialect, asked, reply):
            return refusal
        calls = [(one.id or "", one.name, one.raw) for one in reply.tools]
        said = answer_piece(reply.text, reply.reasoning, calls)
        bill = self.accounts[dialect].charge(asked, said, reasoning=reply.reasoning)
        return Answer(reply, bill, asked, self.count)

    def measure(self, dialect: Dialect, body: bytes) -> int | Refusal:
        """Tokens of a request, or why it is none."""
        asked = checked(dialect, body, answered=False)
        try:
            return asked if isinstance(asked, Refusal) else self.accounts[dialect].measure(asked)
        except RecursionError:
            return _TOO_DEEP

    @property
    def stats(self) -> dict[str, Any]:
        """Totals of all dialects.

        `rewritten` counts requests that changed what was sent between turns (sealing, compaction),
        `prefix_breaks` those that did so inside a turn; `invalid` those that no provider takes.
        """
        rows = self.accounts.values()
        return {
            "requests": self.count,
            "refused": self._refused,
            "invalid": self._invalid,
            "cached_tokens": sum(row.cached for row in rows),
            "written_tokens": sum(row.written for row in rows),
            "fresh_tokens": sum(row.fresh for row in rows),
            "output_tokens": sum(row.output for row in rows),
            "extended": sum(row.growth.get("extended", 0) for row in rows),
            "rewritten": sum(row.growth.get("rewritten", 0) for row in rows),
            "prefix_breaks": sum(row.growth.get("broken", 0) for row in rows),
        }

    def _refusal(self, dialect: Dialect, asked: Mapping[str, Any], reply: Reply) -> Refusal | None:
        status = status_of(reply.fault)
        if status is not None:
            return injected(status)
        if reply.fault != "overflow" and self._window is None:
            return None
        tokens = self.accounts[dialect].measure(asked)
        window = self._window or max(tokens - 1, 1)
        if reply.fault == "overflow":
            return too_long(dialect, tokens, min(window, max(tokens - 1, 1)))
        return too_long(dialect, tokens, window) if tokens > window else None
