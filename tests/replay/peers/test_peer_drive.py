"""A peer in its own process: bounded, kept apart, and never trusted."""

import json
import sys
from pathlib import Path

import pytest

from peers_run import FAKE, driver
from slicetape.errors import PeerError
from slicetape.replay.peers.drive import Driver, Limits, Program

HELLO = b'{"role":"user","content":"hello"}'


def test_messages_that_stand_are_named_and_not_repeated(tmp_path):
    with driver(tmp_path) as peer:
        peer.open({})
        first = peer.request(0, [HELLO])
        assert (first.keep, list(map(bytes, first.add))) == (0, [b"0"])
        second = peer.request(1, [b'{"role":"assistant","content":"hi"}', HELLO])
        assert (second.keep, list(map(bytes, second.add))) == (1, [b"1", b"2"])
        assert second.ms >= 0


def test_a_message_that_changed_at_its_place_is_named_again(tmp_path):
    with driver(tmp_path) as peer:
        peer.open({})
        peer.request(0, [HELLO, HELLO])
        answer = peer.request(1, [b'{"role":"user","content":"other"}'])
        assert (answer.keep, list(map(bytes, answer.add))) == (1, [b"1"])


def test_text_in_any_script_comes_back_as_it_was_written(tmp_path):
    with driver(tmp_path) as peer:
        peer.open({"do": "first lines"})
        message = {"role": "tool", "tool_call_id": "a", "content": "磁盘 🎉\nrest"}
        answer = peer.request(0, [json.dumps(message).encode()])
        assert json.loads(bytes(answer.add[0]))["content"] == "磁盘 🎉"


def test_settings_that_a_peer_refuses_are_told_in_one_line(tmp_path):
    with driver(tmp_path) as peer:
        with pytest.raises(PeerError) as caught:
            peer.open({"do": "refuse"})
        assert str(caught.value) == (
            "fake cannot be opened: ValueError: unknown setting in two lines"
        )
        assert peer.open({})  # and the process is still there


def test_a_driver_that_ends_python_cannot_be_opened(tmp_path):
    with driver(tmp_path) as peer, pytest.raises(PeerError, match="SystemExit: no such library"):
        peer.open({"do": "die at once"})


def test_a_request_that_takes_too_long_ends_the_process(tmp_path):
    with driver(tmp_path, request_s=0.2) as peer:
        peer.open({"do": "hang"})
        with pytest.raises(PeerError, match=r"fake did not answer within 0\.2 s"):
            peer.request(0, [HELLO])
        with pytest.raises(PeerError, match="ended before it answered"):
            peer.request(0, [HELLO])


def test_an_answer_that_does_not_end_is_cut_off(tmp_path):
    with driver(tmp_path, answer=4_000) as peer:
        peer.open({"do": "copy"})
        message = {"role": "user", "content": "x" * 100}
        assert peer.request(0, [json.dumps(message).encode()]).add
        peer.open({"do": "first lines"})
        long = {"role": "tool", "tool_call_id": "a", "content": "x" * 5_000 + "\ny"}
        with pytest.raises(PeerError, match="ended before it answered: exit status -9"):
            peer.request(0, [json.dumps(long).encode()])


def test_a_process_that_ends_without_a_word_is_told_by_its_status(tmp_path):
    with driver(tmp_path) as peer:
        peer.open({"do": "die quietly"})
        with pytest.raises(PeerError, match="exit status 3"):
            peer.request(0, [HELLO])


def test_lines_that_are_no_answers_are_refused(tmp_path):
    with driver(tmp_path) as peer:
        peer.open({"do": "scribble"})
        with pytest.raises(PeerError, match="something that is no answer"):
            peer.request(0, [HELLO])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the data of a process")
def test_memory_is_bounded(tmp_path):
    with driver(tmp_path, memory=256 << 20) as peer:
        peer.open({"do": "eat"})
        answer = peer.request(0, [HELLO])
        assert answer.error == "MemoryError:"


def test_a_peer_gets_no_keys_and_a_home_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    home = tmp_path / "peer" / "home"
    with driver(home) as peer:
        peer.open({"do": "tell environment"})
        answer = peer.request(0, [HELLO])
    told = json.loads(bytes(answer.add[0]))["content"]
    assert "OPENAI_API_KEY" not in told
    assert told.endswith(f"in {home}")


def test_a_file_that_stands_where_a_home_should_is_told(tmp_path):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(PeerError, match="File exists"):
        driver(tmp_path / "home")


def test_an_interpreter_that_is_not_there_is_told(tmp_path):
    program = Program("gone", Path("/nowhere/python"), FAKE, (), tmp_path)
    with pytest.raises(PeerError, match="gone: /nowhere/python cannot be started: No such file"):
        Driver(program, Limits())
