"""The drivers that ship, against stand-ins of the libraries that they drive."""

import pytest

from peer_stubs import install_stubs
from peers_run import FLAT, row
from replay_run import recorded
from slicetape.replay.peers.figures import Options
from slicetape.replay.peers.peers import Lineup
from slicetape.replay.peers.rows import PeerSession
from story import Story


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> PeerSession:
    """Eight turns that each read 12,000 letters, one with a call whose arguments are no JSON."""
    home = tmp_path_factory.mktemp("home")
    install_stubs(home)
    story = Story()
    story.system("You are careful.")
    for number in range(8):
        story.reading_turn(f"src/file_{number}.py", f"ERROR {number}\n" + "line\n" * 2_400)
    story.start()
    story.human("patch it")
    story.says("", calls={"p": ("patch", "*** no JSON")}, thinks="so be it")
    story.result("p", "x" * 600)
    story.says("patched")
    story.end()
    options = Options(sheets=FLAT, tokenizer="bytes")
    with Lineup(home=home) as lineup:
        return lineup.compare(recorded(story), options)


def test_every_setup_of_every_peer_is_driven_without_a_failure(session):
    assert [row.name for row in session.rows] == [
        "transcript",
        "headroom default",
        "headroom agent",
        "headroom frozen",
        "headroom carried",
        "langchain 100k/3",
        "langchain 30k/3",
        "langchain 30k/3+10k",
        "pydantic 10k",
        "pydantic 4k",
        "pydantic clear 100k/3",
        "pydantic clear 30k/3",
        "pydantic window 30k/10",
        "pydantic 10k, clear 30k/3",
        "pydantic 10k, window 30k/10",
        "openai-agents default",
        "openai-agents 5/2000",
    ]
    for one in session.rows:
        assert (one.name, one.state, one.reason) == (one.name, "measured", None)
        assert (one.name, one.first_failure) == (one.name, None)
    assert row(session, "pydantic 4k").versions == {
        "pydantic-ai-harness": "0.62.0",
        "pydantic-ai-slim": "2.62.0",
    }


def test_headroom_compresses_whole_requests_or_only_what_is_new(session):
    default, frozen = row(session, "headroom default"), row(session, "headroom frozen")
    carried = row(session, "headroom carried")
    assert default.prefix_breaks == 0
    assert default.vs_transcript["rel-none"] < 0.1
    assert frozen.prefix_breaks > 0  # what was new comes whole once it is old
    assert carried.sent_bytes == default.sent_bytes
    assert row(session, "headroom agent").sent_bytes == default.sent_bytes


def test_langchain_clears_all_but_the_newest_results_from_a_trigger_on(session):
    clearing = row(session, "langchain 30k/3")
    assert clearing.prefix_breaks == 6
    assert clearing.fidelity["sources"].shown == 8


def test_the_trimmer_keeps_the_results_of_recent_turns(session):
    default, wide = row(session, "openai-agents default"), row(session, "openai-agents 5/2000")
    assert default.prefix_breaks == default.prefix_breaks_at_turn == 7
    assert default.sent_bytes < wide.sent_bytes < row(session, "transcript").sent_bytes


def test_limits_work_once_on_each_result_as_it_enters(session):
    limited = row(session, "pydantic 10k")
    assert limited.prefix_breaks == 0
    assert (limited.fidelity["sources"].shown, limited.fidelity["results"].shown) == (0, 1)
    assert limited.sent_bytes == row(session, "pydantic 4k").sent_bytes


def test_a_compaction_stays_in_the_history_and_breaks_the_prefix_only_when_it_works(session):
    clear, window = row(session, "pydantic clear 30k/3"), row(session, "pydantic window 30k/10")
    assert row(session, "pydantic clear 100k/3").prefix_breaks == 0
    assert 0 < clear.prefix_breaks < 4
    assert 0 < window.prefix_breaks < 4
    assert clear.fidelity["sources"].shown == window.fidelity["sources"].shown == 8
    both = row(session, "pydantic 10k, clear 30k/3")
    assert both.sent_bytes < clear.sent_bytes
    assert both.fidelity["sources"].shown == 0
