"""Cache breakpoints of the Messages wire: set when a request is put together, part of no piece."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from slicetape.errors import WireError
from slicetape.wire.fragment import Fragment

_MOST = 4
_KINDS = (b"text", b"image", b"tool_use", b"tool_result")
_MARKABLE = tuple(b'{"type":"%s",' % kind for kind in _KINDS)


@dataclass(frozen=True, slots=True)
class Marks:
    """Where cache breakpoints stand: positions in the fragments of a request, at most four.

    A mark whose node leaves nothing, or only reasoning, moves to the nearest node before it.
    """

    nodes: tuple[int, ...] = ()
    ttl: Literal["5m", "1h"] = "5m"

    def value(self) -> bytes:
        """The `cache_control` member, with the comma before it."""
        ttl = b',"ttl":"1h"' if self.ttl == "1h" else b""
        return b',"cache_control":{"type":"ephemeral"%s}}' % ttl


NO_MARKS = Marks()


def with_marks(fragments: Sequence[Fragment], marks: Marks) -> list[Fragment]:
    """The fragments of one request with its breakpoints set."""
    if len(marks.nodes) > _MOST:
        raise WireError(f"a request takes at most {_MOST} cache marks; got {len(marks.nodes)}")
    placed = list(fragments)
    for node in marks.nodes:
        at = min(node, len(placed) - 1)
        while at >= 0 and not any(map(_takes_mark, placed[at].items)):
            at -= 1
        if at >= 0:
            placed[at] = _marked(fragments[at], marks.value())
    return placed


def _takes_mark(item: bytes) -> bool:
    return item.startswith(_MARKABLE)


def _marked(fragment: Fragment, value: bytes) -> Fragment:
    items, held = _last_marked(fragment.items, value), _last_marked(fragment.held, value)
    return Fragment(fragment.role, items, held, fragment.facts)


def _last_marked(items: tuple[bytes, ...], value: bytes) -> tuple[bytes, ...]:
    at = max((n for n, item in enumerate(items) if _takes_mark(item)), default=-1)
    return items if at < 0 else (*items[:at], items[at][:-1] + value, *items[at + 1 :])
