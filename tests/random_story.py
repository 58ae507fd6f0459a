"""Random histories: what people, models, tools and other plugins may do to a session."""

from hypothesis import strategies as st

from sealed_story import SealedStory, coming_snapshot
from slicetape.log.events import SystemMessage, ToolResult, is_snapshot
from slicetape.policy.settings import HistorySettings
from story import PICTURE

Act = tuple[str, int]

ACTS = (
    *("turn",) * 6,
    *("human", "notice", "picture", "silent", "says", "says"),
    *("calls", "calls", "calls", "answer", "answer", "answer", "answer", "read", "read"),
    *("failing", "orphan", "snapshot", "snapshot", "between", "fold", "foreign", "nested"),
)

histories = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 10**6)), min_size=5, max_size=60
)

settings_of = st.builds(
    HistorySettings,
    keep_recent_turns=st.sampled_from([0, 0, 0, 1, 2]),
    entry_max_chars=st.sampled_from([None, None, 256, 300, 900, 3_000]),
    seal_only_if_shorter=st.booleans(),
)


class RandomStory(SealedStory):
    """A story that tells acts; `turn` opens the next turn and calls `at_seal` before sealing."""

    def __init__(self, settings: list[HistorySettings]) -> None:
        super().__init__()
        self.system("the prompt")
        self.waiting: list[str] = []
        self.settings = settings

    def tell(self, act: str, number: int) -> None:
        getattr(self, f"act_{act}")(number)

    def at_seal(self, number: int) -> None:
        """Seal; a test may look before and after."""
        self.seal(self.pending(number))

    def pending(self, number: int) -> tuple:
        return coming_snapshot() if number % 3 == 0 else ()

    def act_turn(self, number: int) -> None:
        self.act_between(number)
        super(SealedStory, self).start()
        self.prestep.history = self.settings[self.turn % len(self.settings)]
        self.at_seal(number)
        if number % 3 == 0:
            self.snapshot(f"context {number}")
        self.human(f"request {self.turn}")

    def act_between(self, number: int) -> None:
        if self.view.turns.open:
            self.end(("completed", "completed", "aborted", "error")[number % 4])
        self.waiting.clear()

    def act_human(self, number: int) -> None:
        self.human("steering " + "x" * (number % 50))

    def act_notice(self, number: int) -> None:
        self.notice(f"notice {number}")

    def act_snapshot(self, number: int) -> None:
        self.snapshot("context " * (number % 90))

    def act_picture(self, _: int) -> None:
        self.human("look", PICTURE)

    def act_silent(self, _: int) -> None:
        self.says()

    def act_says(self, number: int) -> None:
        self.says("answer é😀 " * (number % 60), thinks="hm " * (number % 7))

    def act_calls(self, number: int) -> None:
        ids = [f"c{number % 7 + at}" for at in range(number % 3 + 1)]
        tools = ("bash", "read", "grep")
        self.says(calls={id: (tools[number % 3], {"path": f"p{number % 4}"}) for id in ids})
        self.waiting += ids

    def act_answer(self, number: int) -> None:
        if self.waiting:
            id = self.waiting.pop(number % len(self.waiting))
            self.result(id, "out " * (number % 300))

    def act_failing(self, _: int) -> None:
        if self.waiting:
            self.result(self.waiting.pop(), "boom", error=True)

    def act_read(self, number: int) -> None:
        self.reads(f"file-{number % 5}.txt", f"body {number % 3}\n" * (number % 40))

    def act_orphan(self, number: int) -> None:
        self.result(f"c{number % 9}", "nobody asked")

    def act_nested(self, number: int) -> None:
        if self.waiting:
            self.nested(self.waiting[-1], f"sub-{number}", "read", {"path": "inner"}, f"{number}")

    def act_fold(self, number: int) -> None:
        nodes = self.view.surface.nodes
        results = [seq for seq in nodes if isinstance(self.events[seq], ToolResult)]
        if results:
            self.view_of(self.events[results[number % len(results)]], "view " * (number % 20))

    def act_foreign(self, number: int) -> None:
        """Another plugin replaces a run of nodes, entries perhaps among them."""
        nodes = self.view.surface.nodes[1:]
        if nodes:
            left = number % len(nodes)
            right = min(len(nodes) - 1, left + number % 4)
            first, last = self.events[nodes[left]], self.events[nodes[right]]
            assert not isinstance(first, SystemMessage)
            snapshot = is_snapshot(first) and number % 2
            source = first.data.source if snapshot else None  # type: ignore[union-attr]
            self.replaced(first, last, "condensed by others", source=source)
