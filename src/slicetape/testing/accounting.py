"""Usage of scripted answers, from the cache simulator: what a provider would have read and written.

A request is cut into pieces as the provider reads it: tools, system, then one piece a message
(chat) or a content block (messages). Cache marks are breakpoints and no part of a piece.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slicetape.prices.cache import Charge, PrefixCache, Request
from slicetape.prices.prefix import Prefix, Section
from slicetape.prices.rules import cache_rules
from slicetape.prices.tokens import Counter, counter

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request, as cached; `mark` says that a breakpoint stands behind it."""

    text: str
    section: Section
    mark: bool = False


class Account:
    """One account at a provider: its cache and its counter, named as in reports."""

    def __init__(self, cache: str, tokens: str = "bytes") -> None:
        self._cache = PrefixCache(cache_rules(cache))
        self._root = Prefix()
        self._counter: Counter = counter(tokens)
        self.requests = 0
        self.cached = self.written = self.fresh = self.output = 0

    def charge(self, body: Json, answer: str) -> tuple[Charge, int]:
        """Bill a request and its answer: the charge, and the tokens of the output."""
        prefix, marks = self._root, list[Prefix]()
        for piece in pieces(body):
            tokens = self._counter.count(piece.text)
            prefix = prefix.then(piece.text, tokens, section=piece.section)
            if piece.mark:
                marks.append(prefix)
        output = self._counter.count(answer) if answer else 0
        said = prefix.then(("answer", answer), output) if answer else None
        charge = self._cache.charge(
            Request(prefix=prefix, breakpoints=tuple(marks[-4:]), answer=said)
        )
        self.requests += 1
        self.cached += charge.cached
        self.written += charge.written
        self.fresh += charge.fresh
        self.output += output
        return charge, output


def pieces(body: Json) -> Iterator[Piece]:
    """The pieces of a request of either wire, in the order in which they are cached."""
    if body.get("tools"):
        yield Piece(_text(body["tools"]), "tools", _marked(body["tools"]))
    system = body.get("system")
    for block in [system] if isinstance(system, str) else system or ():
        yield Piece(_text(block), "system", _marked(block))
    for message in body.get("messages", ()):
        content = message.get("content")
        section: Section = "system" if message.get("role") == "system" else "messages"
        if isinstance(content, list) and "tool_call_id" not in message:
            for block in content:
                yield Piece(f"{message['role']}:{_text(block)}", section, _marked(block))
        else:
            yield Piece(_text(message), section)


def _text(value: object) -> str:
    return json.dumps(_unmarked(value), ensure_ascii=False, separators=(",", ":"))


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    return value


def _marked(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_marked, value))
    return isinstance(value, Mapping) and "cache_control" in value
