"""When each prefix was last used, without touching every ancestor of every request.

Using a prefix uses all shorter ones. The prefixes on the way to the newest use therefore share one
time, kept once; only those that a later use leaves behind are written down.
"""

from slicetape.prices.prefix import Prefix


class Recency:
    """The uses of all prefixes that begin with one first piece.

    `touch` costs the pieces that differ from the use before it, `used` costs nothing.
    """

    __slots__ = ("_left", "_now", "_path", "born")

    def __init__(self, root: Prefix, born: int) -> None:
        """Know only the empty prefix. `born` is when the first piece was written, in ms."""
        self.born = born
        self._path = [root]
        self._now = born
        self._left: dict[Prefix, int] = {}

    def newest(self, prefix: Prefix) -> bool:
        """Whether the newest use began with `prefix`."""
        return prefix.depth < len(self._path) and self._path[prefix.depth] is prefix

    def used(self, prefix: Prefix) -> int | None:
        """When `prefix` was last used, in ms, or None when it never was."""
        return self._now if self.newest(prefix) else self._left.get(prefix)

    def touch(self, prefix: Prefix, time: int) -> None:
        """Use `prefix` and everything shorter at `time`, which may lie before the newest use."""
        grown = []
        node = prefix
        while not self.newest(node):
            grown.append(node)
            node = node.parent
        if time < self._now:
            for late in grown:
                self._left[late] = max(time, self._left.get(late, time))
            return
        for left in self._path[node.depth + 1 :]:
            self._left[left] = self._now
        del self._path[node.depth + 1 :]
        self._path.extend(reversed(grown))
        self._now = time

    def deepest(self, prefix: Prefix) -> Prefix:
        """The longest prefix of `prefix` that was ever used."""
        node = prefix
        while self.used(node) is None:
            node = node.parent
        return node

    def live(self, prefix: Prefix, since: int) -> Prefix:
        """The longest prefix of `prefix`, itself known, that was used at `since` or later."""
        node = prefix
        while not self.newest(node):
            if self._left[node] >= since:
                return node
            node = node.parent
        return node if self._now >= since else self._path[0]
