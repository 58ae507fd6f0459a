"""What a request shows: by example, against the definition, and with work that is linear."""

from collections.abc import Callable
from random import Random

import pytest

import evidence_brute as brute
from evidence_story import Watched, fates, fates_of, measured, told
from replay_run import recorded
from slicetape.log.events import TurnStart
from slicetape.loop.prestep import Prestep
from slicetape.policy.settings import HistorySettings
from slicetape.replay.evidence.standing import Originals, standing
from story import Story

ARMS = [
    ("transcript", 200_000),
    ("tape", 200_000),
    ("tape{history.entryMaxChars=700}", 200_000),
    ("tape{history.entryMaxChars=300}", 200_000),
    ("tape{history.keepRecentTurns=1}", 200_000),
    ("mask:1", 200_000),
    ("compact", 400),
    ("compact", 2_000),
]


@pytest.mark.parametrize(("name", "window"), ARMS)
def test_every_arm_hides_what_the_definition_says(name: str, window: int) -> None:
    hidden = 0
    for seed in range(16):
        recording = recorded(told(seed))
        done = measured(recording, name, window)
        found = fates(recording, done)
        log = done.session.log.events
        assert found == brute.seen(recording, log, recalls=done.arm.recalls)
        hidden += sum(fate != "visible" for fate in found.values())
    assert (hidden == 0) == (name == "transcript")


@pytest.mark.parametrize("seed", range(30))
def test_views_and_entries_together_hide_what_the_definition_says(seed: int) -> None:
    random = Random(seed)
    watched = Watched(told(seed))
    prestep = Prestep(watched.session, HistorySettings(seal_only_if_shorter=False))

    def act(watched: Watched, at: int) -> None:
        if isinstance(watched.recording.events[at], TurnStart) and at:
            prestep.before_step(1, time=0)
        results = [seq for seq in watched.session.view.surface.nodes if _is_result(watched, seq)]
        if results and random.random() < 0.5:
            event = watched.log[random.choice(results)]
            watched.story.view_of(event, _view(random, "\n".join(brute.spoken(event))))

    watched.send(act)
    found = fates_of(watched.recording, watched.visibility)
    assert found == brute.seen(watched.recording, watched.log, recalls=True)


def _is_result(watched: Watched, seq: int) -> bool:
    return type(watched.log[seq]).__name__ == "ToolResult"


def _view(random: Random, text: str) -> str:
    """Some lines whole, some cut, some words in a list."""
    shown = ["[bash · log · 9 lines, 3 kept]"]
    for line in text.split("\n"):
        act = random.randrange(5)
        if act == 0:
            shown.append(line)
        elif act == 1 and len(line) > 12:
            shown.append(f"{line[:6]} …[+{len(line) - 10} chars]… {line[-4:]}")
        elif act == 2:
            shown.append("fields: " + ", ".join(sorted(brute.words(line))))
        elif act == 3:
            shown.append(f"…[+{len(shown)} lines / {len(line)} chars]…")
    return "\n".join(shown)


def shown(view: str, original: str, *wanted: str) -> set[str]:
    lines = standing([view], Originals(lambda: [original]), frozenset(wanted))
    return set().union(*lines.values())


class TestLines:
    def test_a_line_that_stands_in_the_original_shows_its_words(self) -> None:
        assert shown("head\nuse port_7443", "x\nuse port_7443\ny", "port_7443") == {"port_7443"}

    def test_a_list_of_names_shows_nothing(self) -> None:
        original = '{"port_7443": 1}\n{"port_7443": 2}'
        assert shown("…[+2 items omitted; fields: port_7443]…", original, "port_7443") == set()

    def test_a_part_of_a_line_without_a_marker_shows_nothing(self) -> None:
        assert shown("use port_7443", "x use port_7443 y", "port_7443") == set()

    def test_a_line_cut_by_the_marker_shows_what_is_left_of_it(self) -> None:
        line = "alpha_one " + "x" * 500 + " port_7443 " + "y" * 500 + " omega_two"
        cut = f"{line[:20]} …[+{len(line) - 35} chars]… {line[-15:]}"
        assert shown(cut, line, "alpha_one", "port_7443", "omega_two") == {"alpha_one", "omega_two"}

    def test_a_word_that_a_cut_made_is_not_shown(self) -> None:
        line = "alpha_one_and_more" + "x" * 500
        cut = f"alpha_one …[+{len(line) - 9} chars]… "
        assert shown(cut, line, "alpha_one") == set()

    def test_a_marker_that_does_not_add_up_shows_nothing(self) -> None:
        line = "alpha_one " + "x" * 500
        assert shown("alpha_one …[+3 chars]… xx", line, "alpha_one") == set()

    def test_an_item_of_json_shows_its_words_however_it_was_broken_into_lines(self) -> None:
        original = '[\n  {\n    "id": "port_7443"\n  },\n  {"id": "port_7444"}\n]'
        view = '[\n{"id":"port_7443"},\n…[+1 of 2 items omitted]…\n]'
        assert shown(view, original, "port_7443", "port_7444") == {"port_7443"}
        assert shown('{"id":"port_7445"}', original, "port_7445") == set()
        assert shown('{"id":"port_7443"', original, "port_7443") == set()

    def test_json_that_stands_nowhere_is_looked_for_a_few_times_only(self) -> None:
        original = '{"id":"port_7443"}, ' * 3
        false = [f'{{"n":{n},"id":"port_7443"}}' for n in range(50)]
        assert shown("\n".join([*false, '{"id":"port_7443"}']), original, "port_7443") == set()
        assert shown("\n".join([*false[:9], '{"id":"port_7443"}']), original, "port_7443")

    def test_a_path_of_the_read_index_is_shown_and_its_other_words_are_not(self) -> None:
        line = (
            "[files read this turn: src/app/main.py (3 lines, 546c4194, step 1, seq 7 block 1, "
            "read window default, logged result), conf/dev.toml (1 lines, 546c4195, step 1, seq 9 "
            "block 1, read window default, logged result)]"
        )
        wanted = ("src/app/main.py", "conf/dev.toml", "default", "546c4194", "546")
        assert shown(line, "", *wanted) == {"src/app/main.py", "conf/dev.toml"}

    def test_the_end_of_a_shortened_path_is_not_shown(self) -> None:
        line = "[files read this turn: docs_one two/three_f…[label shortened] (3 lines, 546c4194, "
        assert shown(line, "", "two/three_f", "docs_one") == {"docs_one"}

    def test_line_ends_of_other_systems_make_no_difference(self) -> None:
        assert shown("use port_7443", "use port_7443\r\nmore\r\n", "port_7443") == {"port_7443"}

    def test_a_short_reply_shows_its_text_behind_what_the_entry_writes_before_it(self) -> None:
        assert shown("[reply step 1 seq 5] port_7443", "port_7443", "port_7443") == {"port_7443"}


def turns(count: int) -> Story:
    """Each turn reads a file, and refers to the one before."""
    story = Story()
    for number in range(count):
        story.start()
        story.human(f"go {number}")
        story.reads(f"f{number}.txt", f"mark_{number:05}\nother line\n" * 5)
        story.says(f"as in mark_{max(0, number - 1):05}")
        story.end()
    return story


class TestFates:
    def test_a_sealed_result_hides_its_words_until_a_reply_says_them(self) -> None:
        recording = recorded(turns(3))
        fate = [*fates(recording, measured(recording, "tape")).values()]
        assert fate == ["visible", "visible", "sealed"]

    def test_a_masked_result_is_dropped(self) -> None:
        recording = recorded(turns(3))
        assert "dropped" in fates(recording, measured(recording, "mask:1")).values()

    def _folded(self, *, recalls: bool, text: str) -> str:
        story = Story()
        story.start()
        story.reads("a.txt", "port_7443\n" + "filler\n" * 30)
        story.says("port_7443")
        watched = Watched(story, recalls=recalls)

        def act(watched: Watched, at: int) -> None:
            if at == len(watched.recording.events) - 1:
                watched.story.view_of(watched.result(), text)

        watched.send(act)
        assert [one.seq for one in watched.visibility.first] == [
            event.seq for event in watched.recording.events if _named(event) == "ToolResult"
        ]
        return fates_of(watched.recording, watched.visibility).popitem()[1]

    def test_a_folded_result_hides_what_its_view_leaves_out(self) -> None:
        assert self._folded(recalls=True, text="[head]\nfiller") == "folded"
        assert self._folded(recalls=False, text="[head]\nfiller") == "dropped"
        assert self._folded(recalls=True, text="[head]\nport_7443") == "visible"

    def test_a_fold_of_what_was_sent_is_no_first_sight(self) -> None:
        story = Story()
        story.start()
        story.reads("a.txt", "port_7443")
        story.says("one")
        story.says("two")
        watched = Watched(story)

        def act(watched: Watched, at: int) -> None:
            if at == len(watched.recording.events) - 1:
                watched.story.view_of(watched.result(), "[head]")

        watched.send(act)
        assert watched.visibility.first == []


def _named(event: object) -> str:
    return type(event).__name__


def work(count: int, name: str, of: Callable) -> int:  # type: ignore[type-arg]
    return of(measured(recorded(turns(count)), name).visibility)


@pytest.mark.parametrize("name", ["transcript", "tape", "mask:2", "compact"])
def test_twice_the_session_is_twice_the_work(name: str) -> None:
    counts = [work(size, name, lambda visibility: visibility.counted) for size in (100, 200, 400)]
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    assert 0 < second <= 2 * first + 4
