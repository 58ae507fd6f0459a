"""What holds for every history: folds only add, come back, and are counted the same on a resume."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from folded_story import FoldedStory, document, noisy_log, text_at
from slicetape.log.events import ToolResult
from slicetape.policy.settings import HistorySettings
from story import PICTURE

Act = tuple[str, int]
ACTS = (
    *("read",) * 4,
    *("bash", "several", "search", "fails", "spill"),
    *("expand",) * 5,
    *("nested", "nested", "forward", "print", "reuse"),
    *("turn", "blocked", "other", "rejected"),
)
histories = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 10**6)), min_size=3, max_size=30
)
TEXTS = (document(), noisy_log(), document(60), document(330, "other"), noisy_log(40), "short")
FORMS = ("seq", "view", "ordinal", "text", "stale", "block", "grep", "lines", "blank", "regex")


class Told(FoldedStory):
    """Tells acts; remembers the originals that expansions may address."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.originals: list[int] = []
        self.number = 0
        self.start()
        self.human("go")

    def tell(self, act: str, number: int) -> None:
        self.number += 1
        getattr(self, f"act_{act}")(number)

    def keep(self, result: Any) -> None:
        self.originals.append(result.seq)

    def act_read(self, number: int) -> None:
        arguments = {"file_path": f"{number % 3}.md", "offset": number}
        self.keep(self.uses("read", arguments, TEXTS[number % len(TEXTS)]))

    def act_bash(self, number: int) -> None:
        command = {"timeout": 5, "command": f"make {number % 2}"}
        arguments = command if number % 4 else dict(reversed(command.items()))
        self.keep(self.uses("bash", arguments, TEXTS[number % len(TEXTS)]))

    def act_several(self, number: int) -> None:
        ids = [f"m{at}" for at in range(2 + number % 3)]
        self.says(calls={id: ("read", {"path": f"{id}.md"}) for id in ids})
        texts = {id: (TEXTS[(number + at) % len(TEXTS)],) for at, id in enumerate(ids)}
        self.keep(self.results(texts, errors={ids[0]} if number % 5 == 0 else set()))

    def act_search(self, number: int) -> None:
        lines = (f"src/f{at % 9}.c:{at}: match" for at in range(number % 900))
        self.keep(self.uses("grep", {"pattern": "match"}, "\n".join(lines), PICTURE))

    def act_fails(self, number: int) -> None:
        self.keep(self.uses("bash", {"command": "x"}, TEXTS[number % 2], error=True))

    def act_spill(self, number: int) -> None:
        self.keep(self.runs("bash", {"command": f"make {number % 2}"}, noisy_log(1_400)))

    def act_expand(self, number: int) -> None:
        self.expands(_id=f"e{number % 3}", **self.address(number))

    def act_nested(self, number: int) -> None:
        root = f"r{number % 2}"
        self.says(calls={root: ("run_code", {})})
        for sub in range(1 + number % 3):
            arguments = self.address(number // 3 + sub)
            text, error = self.recalled("expand_result", **arguments)
            self.nested(root, f"s{sub}", "expand_result", arguments, text, error=error)
            if number % 2:
                self.last = text
        self.keep(self.result(root, self.forwarded(number)))

    def forwarded(self, number: int) -> str:
        text = getattr(self, "last", TEXTS[0])
        return text if number % 3 else json.dumps({"got": text})

    def act_forward(self, number: int) -> None:
        self.act_nested(number | 1)

    def act_print(self, number: int) -> None:
        self.keep(self.uses("run_code", {}, self.forwarded(number), id=f"r{number % 2}"))

    def act_reuse(self, number: int) -> None:
        self.keep(self.uses("read", {"path": f"{number % 3}.md"}, TEXTS[0], id="same"))

    def act_turn(self, number: int) -> None:
        self.says("done")
        self.end(("completed", "aborted", "error")[number % 3])
        self.start()
        self.human("and now")

    def act_blocked(self, number: int) -> None:
        self.end("blocked")
        self.start()
        self.human("and now")

    def act_rejected(self, number: int) -> None:
        self.keep(self.uses("bash", {"command": "y"}, TEXTS[number % 2]))
        self.end("blocked")
        self.start()

    def act_other(self, number: int) -> None:
        self.says(calls={"o": ("bash", {"command": "o"})})
        result = self.result("o", TEXTS[0])
        self.keep(result)
        if number % 2:
            self.view_of(result, "cut by another plugin")

    def address(self, number: int) -> dict[str, Any]:
        """An expansion of some original, in one of the forms that locators have."""
        if not self.originals:
            return {"turn": 1, "step": 1}
        seq = self.originals[number % len(self.originals)]
        form = FORMS[number // 7 % len(FORMS)]
        event = self.events[seq]
        assert isinstance(event, ToolResult)
        place = {"turn": event.data.turn, "step": event.data.step}
        by_seq = {"seq": seq, "formatVersion": 3}
        shown = [view.seq for view in self.views if view.sources == (seq,)]
        return {
            "seq": by_seq,
            "view": {"seq": shown[-1] if shown else seq, "formatVersion": 3},
            "ordinal": {**place, "call": self.view.calls.ordinal[seq]},
            "text": place,
            "stale": {"seq": seq, "formatVersion": 2},
            "block": {**by_seq, "block": 1 + number % 3},
            "grep": {**by_seq, "grep": "row"},
            "lines": {**place, "lines": "2-5"},
            "blank": {**by_seq, "grep": " ", "lines": "x"},
            "regex": {**by_seq, "grep": "("},
        }[form]


class Watched(Told):
    """Looks at what each pre-step changes."""

    def enter(self) -> Any:
        before, events = list(self.view.surface.nodes), self.events
        made = super().enter()
        assert self.events[: len(events)] == events
        after = self.view.surface.nodes
        if not made.entries:
            gone, new = set(before) - set(after), set(after) - set(before)
            assert len(gone) == len(new) == len(made.views)
            assert {view.sources[0] for view in made.views} == gone
        sent = max((seq for seq in before if _is_said(events[seq])), default=-1)
        assert all(view.sources[0] > sent for view in made.views), "what was sent stays"
        for view in made.views:
            self.check(view)
        return made

    def check(self, view: ToolResult) -> None:
        original = self.events[view.sources[0]]
        assert isinstance(original, ToolResult)
        assert len(text_at(view, 1)) <= len(text_at(original, 1)) + 200
        assert view.data.message.id == original.data.message.id
        page, error = self.recalled("expand_result", seq=original.seq, formatVersion=3)
        assert not error
        if original.seq not in [e.seq for e in self.events if _is_spilled(e)]:
            count = len(original.data.message.content)
            whole = "\n".join(text_at(original, block) for block in range(1, count + 1))
            assert page.split("\n", 1)[1] == whole


def _is_said(event: Any) -> bool:
    return type(event).__name__ == "AssistantMessage"


def _is_spilled(event: Any) -> bool:
    return isinstance(event, ToolResult) and bool(event.data.meta)


def told(acts: list[Act], story: Told) -> Told:
    for act, number in acts:
        story.tell(act, number)
    story.says("done")
    return story


some_history = st.sampled_from(
    [None, HistorySettings(), HistorySettings(keep_recent_turns=1, seal_only_if_shorter=False)]
)


@given(histories, some_history, st.integers(0, 2))
@settings(deadline=None)
def test_views_take_the_place_of_unsent_results_and_bring_them_back(
    acts: list[Act], history: HistorySettings | None, pins: int
) -> None:
    story = told(acts, Watched(history=history, pin_steps=pins))
    assert story.enter().views == ()


@given(histories, some_history, st.integers(1, 3))
@settings(deadline=None)
def test_live_and_resumed_counts_are_equal(
    acts: list[Act], history: HistorySettings | None, after: int
) -> None:
    story = told(acts, Told(history=history, backoff_after_expansions=after))
    story.enter()
    with TemporaryDirectory() as folder:
        again = story.reopened(Path(folder), history=history, backoff_after_expansions=after)
        assert again.enter().views == ()
        assert again.stats == story.stats
        ours, theirs = again.prestep.fold_state, story.prestep.fold_state
        assert ours.backoff.folds == theirs.backoff.folds
        assert ours.backoff.recoveries == theirs.backoff.recoveries
        again.session.log.close()
