"""The order of the surface while some nodes of it are hidden."""


class Order:
    """Nodes in surface order. Each is appended once and walked over once: linear in events."""

    def __init__(self) -> None:
        self._after: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._hidden: set[int] = set()
        self._last = -1

    def append(self, seq: int, *, hidden: bool) -> None:
        """Put a node behind all others."""
        self._join(self._last, seq)
        self._last = seq
        if hidden:
            self._hidden.add(seq)

    def replace(self, start: int, end: int, seq: int, *, hidden: bool) -> tuple[int, int] | None:
        """Put `seq` where the nodes `start` to `end` stood; the ends of what was not hidden.

        None when all of it was hidden. KeyError when the two are no span of the surface.
        """
        shown = []
        before, at = self._before[start], start
        while True:
            if at not in self._hidden:
                shown.append(at)
            after = self._after.pop(at, -1)
            del self._before[at]
            if at == end:
                break
            at = after
        self._join(before, seq)
        if after == -1:
            self._last = seq
        else:
            self._join(seq, after)
        if hidden:
            self._hidden.add(seq)
        return (shown[0], shown[-1]) if shown else None

    def _join(self, left: int, right: int) -> None:
        self._before[right] = left
        if left != -1:
            self._after[left] = right
