"""What an entry gives up under a cap, rung by rung (edge cases 74 to 83)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealed_story import SealedStory
from slicetape.policy.entry import Part, Reply, Run, parts_of
from slicetape.policy.observe import Evidence
from slicetape.policy.seal import plan_seal
from slicetape.policy.settings import HistorySettings
from slicetape.policy.shrink import fit, shorten
from slicetape.policy.state import SealState
from story import Story


def run_of(*parts: Part, story: Story | None = None) -> Run:
    return Run((story or Story()).view, Evidence(), parts)


def sealed(cap: int | None, *answers: str, human: str = "go on") -> tuple[SealedStory, str]:
    """A turn with these replies, sealed under a cap."""
    story = SealedStory(entry_max_chars=cap)
    story.start()
    story.human(human)
    for answer in answers:
        story.says(answer)
    story.end()
    story.start()
    return story, story.tape[0]


def test_case_74_a_cap_takes_tool_lines_first_and_then_cuts_replies() -> None:
    story = SealedStory(entry_max_chars=3_000)
    story.start()
    story.human("the human text")
    story.reads("a.txt", "body")
    story.says("long answer " * 420)
    story.end()
    story.start()
    (text,) = story.tape
    assert len(text) <= 3_000
    assert "[tool turn" not in text
    assert "…[+" in text
    assert "[turn 1]" in text
    assert "the human text" not in text
    assert "the human text" in story.shown()


def test_case_75_a_reply_that_fits_is_complete_with_its_blanks() -> None:
    body = "  \n" + "x" * 3_600 + "\n  "
    assert f"]\n{body}\n[end reply" in sealed(5_000, body)[1]


def test_case_76_many_turns_that_read_long_paths_keep_whole_locators() -> None:
    story = SealedStory(entry_max_chars=2_000, keep_recent_turns=13)
    for _ in range(13):
        story.start()
        for number in range(10):
            path = f"{number}/" + "p" * 500
            story.reads(path, f"body {number}", selector="s" * 800)
        story.says("answer")
        story.end()
    before = [event for event in story.events if event.is_original]
    story.prestep.history = HistorySettings(entry_max_chars=2_000, seal_only_if_shorter=False)
    story.start()
    (text,) = story.tape
    assert len(text) <= 2_000
    assert text.startswith("[slice tape v1 · turns 1-13 · 13 turn(s) sealed")
    assert (
        text.count("recall_turn(")
        == len(re.findall(r'recall_turn\(\{"turn":"\d+"[^}]*\}\)', text))
        > 0
    )
    assert [event for event in story.events if event.is_original][: len(before)] == before


def test_case_77_eighty_turns_under_256_keep_their_range_and_the_way_back() -> None:
    story = SealedStory(entry_max_chars=256, keep_recent_turns=80)
    for _ in range(80):
        story.start()
        story.says("tiny")
        story.end()
    story.prestep.history = HistorySettings(entry_max_chars=256, seal_only_if_shorter=False)
    story.start()
    assert story.tape == [
        (
            "[slice tape v1 · turns 1-80 · 80 turn(s) sealed]\n"
            '[details omitted to fit entry; recall_turn({"turn":"1"}); repeat for each turn through 80]'
        )
    ]
    assert "tiny" in story.page(80)


@pytest.mark.parametrize("cap", [255, 0, -1, 300.5, True, 2**53, "300", float("inf")])
def test_case_78_a_cap_that_is_no_integer_of_256_or_more_is_refused(cap: object) -> None:
    settings = HistorySettings(entry_max_chars=cap)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="safe integer >= 256"):
        plan_seal(Story().view, SealState(), settings)
    with pytest.raises(ValueError, match="safe integer >= 256"):
        fit(run_of(Part(1)), cap)  # type: ignore[arg-type]


def test_case_79_a_character_outside_the_first_plane_counts_once() -> None:
    plain, emoji = sealed(None, "x" * 300)[1], sealed(None, "😀" * 300)[1]
    assert len(plain) == len(emoji)
    assert sealed(len(emoji), "😀" * 300)[1] == emoji
    assert sealed(len(emoji) - 1, "😀" * 300)[1] != emoji


def counting(plan_of: SealedStory) -> tuple[object, list[int]]:
    """A plan whose measurements are counted."""
    plan, taken = plan_of.prestep.plan(), []
    measure = plan.measure

    def counted() -> tuple[int, int]:
        taken.append(1)
        return measure()

    return type(plan)(plan.seals, plan.left, plan.warnings, counted), taken


def test_case_80_an_unread_diagnostic_costs_nothing() -> None:
    story = SealedStory()
    story.short_turn("😀" * 50_000)
    Story.start(story)
    plan, taken = counting(story)
    assert plan.seals  # type: ignore[attr-defined]
    assert taken == []


def test_case_81_a_diagnostic_is_measured_once() -> None:
    story = SealedStory()
    story.short_turn("😀" * 50_000)
    plan, taken = counting(story)
    sizes = {(plan.view_chars, plan.history_chars) for _ in range(3)}  # type: ignore[attr-defined]
    assert taken == [1]
    ((view, history),) = sizes
    assert 50_000 < view < 51_000
    assert 0 < history < 1_000
    nothing = SealedStory()
    nothing.start()
    nothing.human("only a human message")
    assert nothing.prestep.plan().history_chars == 0


def test_a_diagnostic_of_text_that_is_no_unicode_is_a_number() -> None:
    story = SealedStory()
    story.short_turn("lone \ud800 surrogate")
    assert story.prestep.plan().view_chars > 0


def rungs(story: SealedStory) -> dict[str, int]:
    """Every different text that the ladder gives for the first turn, with its length."""
    view = story.view
    nodes = [seq for seq in view.surface.nodes if view.turns.owner(view.events[seq]) == 1][1:]
    evidence = Evidence()
    evidence.advance(view)
    run = Run(view, evidence, parts_of(view, nodes))
    texts = {fit(run, None): 10**6}
    for cap in range(8_000, 255, -1):
        text = fit(run, cap)
        if text not in texts:
            texts[text] = cap
    return texts


def test_the_ladder_gives_up_what_the_table_says_in_its_order() -> None:
    story = SealedStory()
    Story.start(story)
    story.human()
    story.reads("a.txt", "body")
    story.says(" " + "r" * 4_000 + " ")
    story.end()
    texts = list(rungs(story))
    complete, no_tools, *cut = texts
    assert "[tool turn 1" in complete
    assert "[tool turn 1" not in no_tools
    assert " " + "r" * 4_000 + " " in no_tools
    kept = [re.search(r"(r+) …\[\+(\d+) chars in sealed turn\]… (r+)\n", text) for text in cut]
    found = [(len(m[1]), int(m[2]), len(m[3])) for m in kept if m]
    assert found == [
        (1_400, 2_100, 500),
        (700, 3_050, 250),
        (350, 3_525, 125),
        (175, 3_763, 62),
        (87, 3_882, 31),
    ]
    compact = cut[len(found)]
    assert compact.startswith(
        "[slice tape v1 · turns 1-1 · 1 turn(s) sealed · details: "
        'recall_turn({"turn":"1"}); repeat for each turn through 1]\n[turn 1]\n[reply step 2 seq 5]  r'
    )
    assert cut[-1].startswith("[slice tape v1 · turns 1-1 · 1 turn(s) sealed")


@pytest.mark.parametrize(
    ("size", "shown"),
    [(48, "x" * 48), (49, "x" * 32 + "…[+1 chars, recall_turn]…" + "x" * 16)],
)
def test_case_82_a_compact_reply_keeps_48_code_points(size: int, shown: str) -> None:
    filler = Reply(1, 4, "y" * 300)
    text = fit(run_of(Part(1, replies=(Reply(2, 5, "x" * size), filler))), 380)
    assert f"\n[reply step 2 seq 5] {shown}\n" in text


def test_case_83_a_compact_note_counts_snapshots() -> None:
    filler = Reply(1, 4, "y" * 300)
    text = fit(run_of(Part(7, snapshots=1, replies=(filler,))), 330)
    assert '\n[1 runtime-context snapshot(s) superseded; recall_turn({"turn":"7"})]\n' in text
    text = fit(run_of(Part(0, snapshots=2, replies=(filler,))), 360)
    assert '\n[2 runtime-context snapshot(s) superseded; recall_search({"query":"...",' in text


def test_the_count_of_silent_messages_stays_at_every_rung() -> None:
    filler = Reply(1, 4, "y" * 300)
    line = "[3 assistant message(s) contained no visible text or tool calls]"
    for cap in (None, 1_000, 400):
        assert line in fit(run_of(Part(1, replies=(filler,), empties=3)), cap)


def test_a_reply_of_blanks_is_an_empty_line_on_the_middle_rungs() -> None:
    assert shorten(Part(1), Reply(1, 2, " \n\t "), (2_000, 1_400, 500)) == ""
    assert shorten(Part(1), Reply(1, 2, "x" * 2_000), (2_000, 1_400, 500)).count("x") == 2_000
    assert "…[+101 chars in sealed turn]… " in shorten(
        Part(1), Reply(1, 2, "x" * 2_001), (2_000, 1_400, 500)
    )


PARTS = st.builds(
    Part,
    st.integers(1, 10**6),
    st.integers(0, 3),
    st.lists(
        st.builds(Reply, st.integers(1, 999), st.integers(0, 10**9), st.text(min_size=1)),
        max_size=4,
    ).map(tuple),
    st.integers(0, 3),
)


@given(st.lists(PARTS, min_size=1, max_size=12), st.integers(256, 5_000))
def test_an_entry_never_exceeds_its_cap(parts: list[Part], cap: int) -> None:
    text = fit(run_of(*parts), cap)
    assert len(text) <= cap
    turns = [part.turn for part in parts]
    assert text.startswith(f"[slice tape v1 · turns {min(turns)}-{max(turns)} · ")


@given(st.integers(1, 10**15), st.integers(0, 10**15))
def test_the_last_resort_is_always_below_256(first: int, more: int) -> None:
    parts = [Part(first), Part(first + more), *(Part(first, empties=10**9) for _ in range(9))]
    assert len(fit(run_of(*parts), 256)) < 256
