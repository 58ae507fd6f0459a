"""The meter of a row: bytes, common prefix, tokens and prices of the requests that were sent.

A request costs what differs from the request before. Where two messages differ, what they begin
with in common counts by its share of the bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from slicetape.prices.cache import Request
from slicetape.prices.prefix import Prefix, Section
from slicetape.replay.counting import FRAME, IMAGE, Counts
from slicetape.replay.meter import Sent
from slicetape.replay.peers.requests import ChatRequest, Item


@dataclass(slots=True)
class Sums:
    """Sums over the requests of a row.

    `common_bytes` begin a request as they began the one before; `breaks` are requests that do not
    extend the last one.
    """

    requests: int = 0
    bytes: int = 0
    common_bytes: int = 0
    last_bytes: int = 0
    tokens: int = 0
    breaks: int = 0
    breaks_at_turn: int = 0


class RowMeter:
    """Follows the requests of one row. `head` tokens stand ahead of each."""

    def __init__(self, *, head: int = 0) -> None:
        start = Prefix()
        self._prefixes = [start.then("head", head, section="tools") if head else start]
        self._items: list[Item] = []
        self._sizes = [0]
        self._known: dict[bytes, tuple[int, int]] = {}  # a key and tokens for equal bytes
        self.sums = Sums()
        self.sent: list[Sent] = []

    def request(self, keep: int, add: Sequence[Item], asked: ChatRequest) -> None:
        """Take what is sent for `asked`: the first `keep` messages of the last one, then `add`."""
        gone = self._items[keep:]
        common = _alike(gone, add)
        kept = keep + common
        broken = kept < len(self._items)
        shared = self._shared(kept, gone[common:], add[common:])
        del self._items[kept:], self._prefixes[kept + 1 :], self._sizes[kept + 1 :]
        for item in add[common:]:
            self._append(item)
        self._sum(broken=broken, first_in_turn=asked.first_in_turn)
        prefix = answer = self._prefixes[-1]
        for item in asked.answer:
            answer = self._then(answer, item)
        request = Request(
            prefix=prefix,
            shared=min(shared, prefix.tokens),
            breakpoints=(prefix,),
            answer=answer if asked.answer else None,
            time_ms=asked.reply.time or None,
        )
        self.sent.append(Sent(request, 0))

    def _then(self, prefix: Prefix, item: Item) -> Prefix:
        key, tokens = self._known.setdefault(item.json, (len(self._known), item.tokens))
        section: Section = "system" if item.json.startswith(b'{"role":"system"') else "messages"
        return prefix.then(key, tokens, section=section)

    def _append(self, item: Item) -> None:
        self._prefixes.append(self._then(self._prefixes[-1], item))
        self._items.append(item)
        self._sizes.append(self._sizes[-1] + len(item.json) + (1 if self._sizes[-1] else 0))

    def _shared(self, kept: int, gone: Sequence[Item], add: Sequence[Item]) -> int:
        """Tokens of the exact common prefix with the last request; its bytes are summed."""
        before = self._prefixes[kept].tokens
        self.sums.common_bytes += self._sizes[kept] + 1 if self.sums.requests else 0
        if not gone or not add:
            return before
        old, new = gone[0], add[0]
        same = _begin_alike(old.json, new.json)
        self.sums.common_bytes += same
        return before + new.tokens * same // len(new.json)

    def _sum(self, *, broken: bool, first_in_turn: bool) -> None:
        sums = self.sums
        sums.requests += 1
        sums.last_bytes = self._sizes[-1] + 2
        sums.bytes += sums.last_bytes
        sums.tokens += self._prefixes[-1].tokens
        sums.breaks += broken
        sums.breaks_at_turn += broken and first_in_turn


def _alike(gone: Sequence[Item], add: Sequence[Item]) -> int:
    """How many messages at the start of both are equal."""
    count = 0
    for old, new in zip(gone, add, strict=False):
        if old is not new and old.json != new.json:
            break
        count += 1
    return count


def _begin_alike(one: bytes, other: bytes) -> int:
    """How many bytes both begin with, by bisection."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if one[low:half] == other[low:half] else (low, half - 1)
    return low


class ChatMessage(msgspec.Struct, frozen=True):
    """What is read of a message that a peer wrote; other keys only weigh as bytes."""

    role: str = ""
    content: object = None
    tool_call_id: str | None = None
    reasoning_content: object = None
    tool_calls: object = None

    @property
    def text(self) -> str:
        """Its text; texts of several parts are joined by newlines."""
        return "\n".join(_texts(self.content))


_decode = msgspec.json.Decoder(ChatMessage)


def read(json: bytes) -> ChatMessage:
    """A message from its JSON. msgspec.MsgspecError for what is none."""
    return _decode.decode(json)


def weigh(message: ChatMessage, counts: Counts, *, system: bool) -> int:
    """Tokens of a message as nodes count them; prompts weigh nothing without `system`."""
    if message.role in ("system", "developer") and not system:
        return 0
    texts = [*_texts(message.content), *_texts(message.reasoning_content)]
    texts += _calls(message)
    return FRAME + sum(map(counts.text, texts)) + IMAGE * _pictures(message.content)


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else ()
    found = (part.get("text") for part in parts if isinstance(part, dict))
    return [text for text in found if isinstance(text, str)]


def _pictures(content: object) -> int:
    parts = content if isinstance(content, list) else ()
    return sum(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)


def arguments_of(message: ChatMessage) -> list[str]:
    """The arguments of its calls, as they were written."""
    return [said for function in _functions(message) if (said := _said(function, "arguments"))]


def _calls(message: ChatMessage) -> Iterator[str]:
    for function in _functions(message):
        yield _said(function, "name")
        yield _said(function, "arguments")


def _functions(message: ChatMessage) -> Iterator[dict[str, object]]:
    calls = message.tool_calls
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield function


def _said(function: dict[str, object], key: str) -> str:
    found = function.get(key)
    return found if isinstance(found, str) else ""
