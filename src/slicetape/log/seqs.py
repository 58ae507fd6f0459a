"""Lists of seqs as a log writes them: runs of three or more become pairs."""

from collections.abc import Sequence
from itertools import pairwise

PackedSeqs = tuple[int | tuple[int, int], ...]


def pack(seqs: Sequence[int]) -> PackedSeqs:
    """Write runs of three or more consecutive seqs as pairs, when the list strictly increases."""
    if any(b <= a for a, b in pairwise(seqs)):
        return tuple(seqs)
    packed: list[int | tuple[int, int]] = []
    at = 0
    while at < len(seqs):
        end = at
        while end + 1 < len(seqs) and seqs[end + 1] == seqs[end] + 1:
            end += 1
        if end - at >= 2:
            packed.append((seqs[at], seqs[end]))
        else:
            packed.extend(seqs[at : end + 1])
        at = end + 1
    return tuple(packed)


def unpack(packed: PackedSeqs) -> tuple[int, ...]:
    """The seqs that `pack` was given."""
    seqs: list[int] = []
    for item in packed:
        if isinstance(item, int):
            seqs.append(item)
        else:
            seqs.extend(range(item[0], item[1] + 1))
    return tuple(seqs)
