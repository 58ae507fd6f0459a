"""What a peer makes of a told session, measured beside our arms."""

import msgspec
import pytest

from peers_run import FAKE, FLAT, Here, compared, fake, reading_story, row
from replay_run import recorded
from slicetape.errors import PeerError
from slicetape.replay.arms import arms
from slicetape.replay.peers.drive import Answer, Limits
from slicetape.replay.peers.figures import Compared, Options, peer_row
from slicetape.replay.peers.peers import Lineup
from slicetape.replay.peers.rows import PeerRow, PeerSession, Shown, cost_in_bytes, total_rows
from story import PICTURE, Story

LOG = "start\n2026 ERROR disk gone\n2026 WARNING slow\nFAILED test_a\nE       assert 1\nNEEDLE-1-a\nend"


def test_a_peer_that_changes_nothing_costs_exactly_what_transcript_costs(tmp_path):
    session = compared(reading_story(LOG, LOG + "x", LOG), tmp_path, "nothing", "copy", "talk")
    plain = row(session, "transcript")
    for name in ("fake nothing", "fake copy", "fake talk"):
        peer = row(session, name)
        assert (peer.requests, peer.sent_bytes, peer.input_tokens) == (
            plain.requests,
            plain.sent_bytes,
            plain.input_tokens,
        )
        assert peer.cost == plain.cost
        assert peer.fidelity == plain.fidelity
        assert (peer.prefix_breaks, peer.last_share, peer.failed_requests) == (0, 1.0, 0)


def test_the_versions_of_what_answered_are_in_the_row(tmp_path):
    peer = row(compared(reading_story("a"), tmp_path, "nothing"), "fake nothing")
    assert peer.versions == {"msgspec": msgspec.__version__}


def test_a_peer_that_blanks_sent_results_breaks_the_prefix_and_pays_for_it(tmp_path):
    long = LOG * 30
    session = compared(reading_story(long, long, long), tmp_path, "clear")
    peer, plain = row(session, "fake clear"), row(session, "transcript")
    assert (peer.prefix_breaks, peer.prefix_breaks_at_turn) == (2, 0)
    assert peer.sent_bytes < plain.sent_bytes
    assert peer.vs_transcript["rel-none"] < 0.8 < peer.vs_transcript["flat-30"]
    assert peer.fidelity == plain.fidelity  # it shows everything once


def test_a_result_that_is_cut_as_it_comes_breaks_nothing_and_shows_less(tmp_path):
    peer = row(compared(reading_story(LOG, LOG), tmp_path, "first lines"), "fake first lines")
    assert peer.prefix_breaks == 0
    assert peer.vs_transcript["flat-30"] < 1
    assert peer.fidelity == {
        "errors": Shown(0, 2),
        "warnings": Shown(0, 2),
        "failures": Shown(0, 4),
        "sources": Shown(0, 2),
        "needles": Shown(0, 2),
        "results": Shown(0, 2),
    }


def test_messages_that_a_peer_drops_are_not_shown(tmp_path):
    session = compared(reading_story(*(LOG,) * 4), tmp_path, "drop")
    peer = row(session, "fake drop")
    assert peer.sent_bytes < row(session, "transcript").sent_bytes
    assert peer.prefix_breaks > 0
    assert peer.last_share < 1


def test_pictures_that_a_peer_writes_weigh_as_pictures(tmp_path):
    session = compared(reading_story("a"), tmp_path, "pictures")
    assert row(session, "fake pictures").input_tokens > 2_000


def test_a_request_that_a_peer_fails_on_is_told_and_sent_as_it_came(tmp_path):
    session = compared(reading_story(LOG, LOG), tmp_path, "fail at second")
    peer = row(session, "fake fail at second")
    assert (peer.state, peer.failed_requests) == ("measured", 1)
    assert peer.first_failure.startswith("RuntimeError: out of luck")
    assert len(peer.first_failure) == 300
    assert peer.sent_bytes == row(session, "transcript").sent_bytes
    assert peer.prefix_breaks == 0


def test_a_peer_that_breaks_off_fails_alone_and_is_left_alone_after_three_times(tmp_path):
    does = ("die", "die", "nothing", "die", "nothing")
    session = compared(reading_story(LOG), tmp_path, *does)
    peers = [row for row in session.rows if not row.ours]
    assert [row.state for row in peers] == ["failed", "failed", "measured", "failed", "absent"]
    assert peers[0].reason == "fake ended before it answered: fatal: heap is full"
    assert peers[-1].reason.startswith("broke off 3 times; the last time: fake ended")
    assert peers[0].cost == {}


def test_a_peer_that_cannot_be_installed_is_absent_with_the_reason_and_asked_once(tmp_path):
    class Nowhere(Here):
        def install(self, tell):
            super().install(tell)
            raise PeerError("no registry in reach")

    place = Nowhere(tmp_path)
    options = Options(sheets=FLAT, tokenizer="bytes")
    with Lineup([fake("nothing", "copy")], place=lambda _peer: place) as lineup:
        session = lineup.compare(recorded(reading_story("a")), options)
    absent = [row for row in session.rows if row.state == "absent"]
    assert [(row.name, row.reason) for row in absent] == [
        ("fake nothing", "no registry in reach"),
        ("fake copy", "no registry in reach"),
    ]
    assert place.installed == 1


def test_one_process_serves_all_setups_and_sessions(tmp_path):
    place = Here(tmp_path)
    said: list[str] = []
    options = Options(sheets=FLAT, tokenizer="bytes")
    with Lineup([fake("clear")], place=lambda _peer: place, tell=said.append) as lineup:
        one = lineup.compare(recorded(reading_story(LOG, LOG)), options)
        again = lineup.compare(recorded(reading_story(LOG, LOG)), options)
    assert place.installed == 1
    assert row(one, "fake clear").cost == row(again, "fake clear").cost
    assert said == ["story: fake", "story: fake"]


def test_our_arms_stand_beside_peers_at_the_costs_of_a_replay(tmp_path):
    story = reading_story(*(LOG * 20,) * 4)
    session = compared(story, tmp_path, "nothing", arms=arms("tape,mask:1"))
    assert [row.name for row in session.rows] == ["transcript", "tape", "mask:1", "fake nothing"]
    tape = row(session, "tape")
    assert tape.ours
    assert (tape.prefix_breaks, tape.prefix_breaks_at_turn) == (3, 3)
    assert tape.vs_transcript["rel-none"] < 0.6
    assert tape.fidelity == row(session, "transcript").fidelity


def test_heads_weigh_on_every_request_and_prompts_only_when_asked(tmp_path):
    story = Story()
    story.system("You are careful.")
    story.short_turn()
    bare = compared(story, tmp_path, "nothing", head=0)
    with_prompt = compared(story, tmp_path, "nothing", head=100, system=True)
    for name in ("transcript", "fake nothing"):
        more = row(with_prompt, name).input_tokens - row(bare, name).input_tokens
        assert more == 100 + 4 + 5
    assert with_prompt.head_tokens == 100


def test_a_result_with_a_picture_and_a_text_behind_it_keeps_its_tokens(tmp_path):
    story = Story()
    story.start()
    story.human("look", PICTURE)
    story.says(calls={"a": ("view", {"path": "x.png"}), "b": ("view", {"path": "y.png"})})
    story.results({"a": ("text", PICTURE), "b": ("more",)})
    story.says("seen")
    story.end()
    session = compared(story, tmp_path, "nothing")
    plain = row(session, "transcript")
    assert row(session, "fake nothing").cost == plain.cost
    assert plain.input_tokens > 3_000


def answers(*rows: Answer):
    told = iter(rows)
    return lambda keep, add: next(told)


def test_a_peer_that_names_messages_that_are_not_there_is_refused():
    session = Compared(recorded(reading_story("a")), Options(sheets=FLAT), len)
    for answer, why in (
        (Answer(keep=1), "kept 1 of 0 messages"),
        (Answer(add=(msgspec.Raw(b"7"),)), "names message 7 of 1"),
        (Answer(add=(msgspec.Raw(b'{"role":5}'),)), "answered a message that is none"),
    ):
        with pytest.raises(PeerError, match=why):
            peer_row("x", {}, answers(answer), session)


def test_rows_know_who_is_cheaper_and_as_faithful():
    ours = PeerRow(
        name="ours",
        ours=True,
        cost={"a": 2.0, "b": 2.0},
        fidelity={"errors": Shown(3, 4), "results": Shown(9, 9)},
    )
    cheap = PeerRow(name="cheap", cost={"a": 1.0, "b": 3.0}, fidelity={"errors": Shown(3, 4)})
    blind = PeerRow(name="blind", cost={"a": 1.0, "b": 1.0}, fidelity={"errors": Shown(2, 4)})
    assert cheap.as_faithful_as(ours)
    assert not blind.as_faithful_as(ours)
    assert not PeerRow(name="none").as_faithful_as(ours)
    assert cheap.cheaper_on(ours, ("a", "b")) == ("a",)


def test_sums_keep_only_rows_that_every_session_has_figures_for(tmp_path):
    one = compared(reading_story(LOG, LOG), tmp_path, "nothing", "clear")
    other = compared(reading_story(LOG), tmp_path, "nothing", "die")
    rows = {row.name: row for row in total_rows([one, other])}
    assert list(rows) == ["transcript", "fake nothing"]
    plain = rows["transcript"]
    assert plain.requests == 6
    assert plain.vs_transcript["flat-30"] == 1
    assert plain.fidelity["errors"] == Shown(3, 3)
    assert total_rows([]) == ()


def test_a_cost_in_bytes_takes_common_bytes_at_the_price_of_a_hit():
    plain = PeerRow(name="transcript", sent_bytes=1_000, common_bytes=500)
    other = PeerRow(name="x", sent_bytes=600, common_bytes=0)
    assert cost_in_bytes(other, plain, hit=1) == 0.6
    assert cost_in_bytes(other, plain, hit=0) == 1.2
    assert cost_in_bytes(other, PeerRow(name="nothing"), hit=1) == 1


def test_rows_survive_the_way_to_json_and_back(tmp_path):
    session = compared(reading_story(LOG), tmp_path, "nothing", "die")
    assert msgspec.json.decode(msgspec.json.encode(session), type=PeerSession) == session


def test_the_driver_for_tests_is_a_file():
    assert FAKE.is_file()
    assert Limits().request_s == 60
