"""Searches as of a step: the same as `recall_search` on the log as it was, and each run once."""

import re
from itertools import islice

import pytest

from data import shared
from evidence_brute import written
from evidence_story import measured, told
from replay_run import recorded
from slicetape.log.events import Event, UserMessage, is_human
from slicetape.log.messages import text_of
from slicetape.recall.index import Index, documents_of
from slicetape.recall.search import search
from slicetape.replay.evidence.hits import FIRST, Hits
from slicetape.replay.evidence.references import References
from slicetape.replay.recording import Recording
from slicetape.replay.replay import recordings
from slicetape.surface import View
from story import Story


def rarest(view: View, turn: int) -> list[str]:
    """The three rarest words of what people asked in a turn, counted anew."""
    asked = [e for e in view.events if is_human(e) and isinstance(e, UserMessage)]
    texts = [text_of(e.data.content).lower() for e in asked if view.turns.owner(e) == turn]
    words = [w for text in texts for w in re.findall(r"[\w.\-]{2,}", text)]
    often = {word: sum(word in _words(view, event) for event in view.events) for word in words}
    return sorted(dict.fromkeys(words), key=lambda word: often[word])[:3]


def _words(view: View, event: Event) -> set[str]:
    texts = [text.lower() for _, text in documents_of(view, event)]
    return {word for text in texts for word in re.findall(r"[\w.\-]+", text)}


def check(recording: Recording, most: int = 10_000) -> int:
    """Compare searches at some steps with those of the tool; how many there were."""
    log = measured(recording, "transcript").session.log.events
    ours = [event for event in log if not written(event)]
    places = {event.seq: copy.seq for event, copy in zip(recording.events, ours, strict=True)}
    hits, compared = Hits(recording), 0
    steps = [step for step in References(recording).steps.values() if step.references]
    for step in islice(steps, 0, None, 1 + len(steps) // most):
        view = View.of(log[: places[step.seq]])
        index = Index.of(view)
        words = rarest(view, step.turn)
        for reference in step.references[:4]:
            query = " ".join([reference.token, *words])
            assert hits.query(step, reference.token) == query
            found = search(index, query, scope="auto", limit=FIRST)[:FIRST]
            seqs = [hit.document.seq for hit in found]
            assert [places[seq] for seq in hits.first(step, reference.token)] == seqs
            sources = [places[seq] for seq in reference.sources]
            rank = next((at for at, seq in enumerate(seqs, 1) if seq in sources), None)
            assert hits.found(step, reference) == rank
            compared += 1
    return compared


@pytest.mark.parametrize("seed", range(12))
def test_a_search_as_of_a_step_is_that_of_the_tool(seed: int) -> None:
    check(recorded(told(seed, turns=8)))


@pytest.mark.parametrize("name", ["claude-code/cc-03.jsonl", "openai-chat/chat-02.json"])
def test_so_it_is_in_real_sessions(name: str) -> None:
    compared = sum(check(one, 5) for one in recordings(shared(f"transcripts/{name}.zst")))
    assert compared > 4


def story() -> Story:
    it = Story()
    it.start()
    it.human("find the frobnicator in the code of the server")
    it.reads("a.txt", "frobnicator = port_7443")
    it.end()
    it.start()
    it.human("where is the frobnicator of the server? 在哪里")
    it.says("it is port_7443")
    return it


class TestHits:
    def test_a_query_has_the_token_and_the_rarest_words_of_the_turn(self) -> None:
        recording = recorded(story())
        step = [*References(recording).steps.values()][-1]
        assert Hits(recording).query(step, "port_7443") == "port_7443 where is 在哪里"

    def test_what_was_hidden_is_found(self) -> None:
        recording = recorded(story())
        step = [*References(recording).steps.values()][-1]
        hits = Hits(recording)
        assert hits.found(step, step.references[0]) == 1
        assert not hits.in_open_turn(step, step.references[0])

    def test_the_open_turn_is_not_searched(self) -> None:
        it = story()
        it.reads("b.txt", "name_of_it")
        it.says("name_of_it")
        recording = recorded(it)
        step = [*References(recording).steps.values()][-1]
        hits = Hits(recording)
        assert hits.found(step, step.references[0]) is None
        assert hits.in_open_turn(step, step.references[0])

    def test_a_turn_that_nobody_asked_for_is_searched_by_the_token_alone(self) -> None:
        it = story()
        it.end()
        it.start()
        it.says("port_7443")
        recording = recorded(it)
        step = [*References(recording).steps.values()][-1]
        assert Hits(recording).query(step, "port_7443") == "port_7443"

    def test_a_query_of_very_many_terms_is_ranked_as_the_tool_does(self) -> None:
        path = "/".join(f"part{number}" for number in range(230))
        it = story()
        for number in range(4):
            it.end()
            it.start()
            it.human("list them")
            it.reads(f"{number}.txt", path if number < 2 else path[: 700 * number])
            it.says(f"as {path} said")
        assert check(recorded(it))

    def test_each_search_is_run_once_for_all_arms(self) -> None:
        recording = recorded(story())
        step = [*References(recording).steps.values()][-1]
        hits = Hits(recording)
        for _ in range(3):
            hits.found(step, step.references[0])
        assert hits.asked == 1
