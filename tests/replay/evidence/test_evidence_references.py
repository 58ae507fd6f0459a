"""What counts as a reference, and that each text of a recording is looked through once."""

from dataclasses import replace

import pytest

import evidence_brute as brute
from evidence_story import told
from replay_run import recorded
from slicetape.log.messages import Image
from slicetape.replay.evidence.references import Reference, References
from story import PICTURE, Story


def last(story: Story, **facts: bytes) -> tuple[Reference, ...]:
    """The references of the last step."""
    recording = recorded(story)
    if facts:
        recording = replace(recording, facts=replace(recording.facts, **facts))
    return [*References(recording).steps.values()][-1].references


def story() -> Story:
    told = Story()
    told.start()
    return told


class TestKinds:
    def test_a_word_from_a_result_alone_is_of_the_tool(self) -> None:
        it = story()
        result = it.reads("a.txt", "port_7443 here")
        it.says("uses port_7443")
        assert last(it) == (Reference("port_7443", (result.seq,), "tool", False),)

    def test_a_word_that_people_or_the_model_wrote_is_said(self) -> None:
        it = story()
        it.human("take port_7443")
        it.says("so port_7443")
        it.says("port_7443")
        assert [row.kind for row in last(it)] == ["said"]

    @pytest.mark.parametrize("second", ["human", "notice", "argument"])
    def test_everything_else_is_mixed(self, second: str) -> None:
        it = story()
        it.reads("a.txt", "port_7443")
        if second == "human":
            it.human("port_7443")
        elif second == "notice":
            it.notice("port_7443")
        else:
            it.says(calls={"x": ("bash", {"command": "use port_7443"})})
        it.says("port_7443")
        assert [row.kind for row in last(it)] == ["mixed"]

    def test_a_word_only_in_earlier_arguments_is_mixed(self) -> None:
        it = story()
        it.says(calls={"x": ("bash", {"command": "use port_7443"})})
        it.says("port_7443")
        assert [row.kind for row in last(it)] == ["mixed"]

    def test_a_word_in_an_argument_is_copied(self) -> None:
        it = story()
        it.reads("a.txt", "port_7443 port_7444")
        it.says("port_7444", calls={"x": ("bash", {"command": "open port_7443 port_7443"})})
        assert [(row.token, row.copied) for row in last(it)] == [
            ("port_7443", True),
            ("port_7444", False),
        ]


class TestRare:
    def test_a_word_of_four_events_is_common(self) -> None:
        it = story()
        for _ in range(3):
            it.reads("a.txt", "port_7443")
        it.says("port_7443")
        assert len(last(it)) == 1
        it.says("port_7443")
        assert last(it) == ()

    def test_one_event_counts_once_however_often_it_has_the_word(self) -> None:
        it = story()
        it.results({"a": ("port_7443", "port_7443"), "b": ("port_7443 port_7443",)})
        it.says("port_7443 and port_7443")
        assert len(last(it)) == 1

    def test_a_word_of_the_system_prompt_is_no_evidence_from_then_on(self) -> None:
        it = story()
        it.reads("a.txt", "port_7443")
        prompt = it.system("be brief")
        it.says("port_7443")
        assert len(last(it)) == 1
        it.system("use port_7443", replaces=prompt)
        it.says("port_7443")
        assert last(it) == ()

    def test_a_word_of_a_tool_schema_is_no_evidence(self) -> None:
        it = story()
        it.reads("a.txt", "port_7443 file_path")
        it.says("port_7443 file_path")
        tools = b'[{"name": "read", "parameters": {"file_path": {"type": "string"}}}]'
        assert [row.token for row in last(it, tools=tools)] == ["port_7443"]

    def test_a_part_of_a_longer_word_is_another_word(self) -> None:
        it = story()
        it.reads("a.txt", "src/app/main.py")
        it.says("src/app main.py")
        assert last(it) == ()

    def test_reasoning_and_pictures_have_no_words(self) -> None:
        it = story()
        it.human("look", PICTURE)
        it.says("port_7443", thinks="alpha_one")
        it.says("alpha_one", thinks="port_7443")
        assert isinstance(PICTURE, Image)
        assert last(it) == ()


def test_what_follows_a_step_in_its_turn_is_counted() -> None:
    it = story()
    it.says("one")
    it.says("two")
    it.end()
    it.start()
    it.says("three")
    assert [step.later for step in References(recorded(it)).steps.values()] == [1, 0, 0]


@pytest.mark.parametrize("seed", range(25))
def test_the_references_are_those_of_the_definition(seed: int) -> None:
    recording = recorded(told(seed))
    places = {event.seq: at for at, event in enumerate(recording.events)}
    found = {
        (places[step.seq], row.token): (row.kind, row.copied, tuple(map(places.get, row.sources)))
        for step in References(recording).steps.values()
        for row in step.references
    }
    assert found == brute.references(recording)


def test_each_text_is_looked_through_once() -> None:
    it = story()
    for number in range(50):
        it.reads(f"f{number}", f"port_{number:04} " * 20)
        it.says(f"port_{number:04}")
    recording = recorded(it)
    texts = [t for e in recording.events for t in brute.spoken(e) + brute.given(e)]
    references = References(recording)
    assert references.scanned == sum(map(len, texts))
    assert references.count == 50


def test_a_megabyte_on_one_line_is_a_text_like_another() -> None:
    it = story()
    it.reads("a.txt", " ".join(f"name_{number}" for number in range(100_000)))
    it.reads("b.txt", "服" * 1_000_000)
    it.says("name_77777 " + "服" * 1_000_000)
    assert [len(row.token) for row in last(it)] == [10, 1_000_000]
