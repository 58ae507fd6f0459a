"""The cases that break naive importers, each with its number, over all formats they occur in."""

import json

import pytest

from imported import imported, told
from slicetape.formats.counts import count
from slicetape.formats.detect import MODULES, open_sessions
from slicetape.log.events import (
    AssistantMessage,
    RequestHeader,
    ToolCalled,
    ToolResult,
    TurnStart,
    UserMessage,
    is_human,
)
from transcripts import CALLING, TALKING, WRITERS, Call, Said, Turn, transcript


def read(path):
    ((_, events),) = imported(lambda transcript: open_sessions(transcript.path), path)
    return events


def imported_talk(tmp_path, format, *turns):
    return read(transcript(tmp_path, format, turns))


def texts(events, kind=UserMessage):
    """The texts of each message of a kind, joined."""
    found = [event for event in events if isinstance(event, kind)]
    messages = [e.data if kind is UserMessage else e.data.message for e in found]
    return ["".join(getattr(block, "text", "") for block in m.content) for m in messages]


def results(events):
    """The text of each result by the id of its call, in their order."""
    found = {}
    for event in events:
        if isinstance(event, ToolResult):
            (block,) = event.data.message.content
            found[block.tool_call_id] = "".join(part.text for part in block.content)
    return found


def test_every_format_has_a_writer_here():
    assert set(WRITERS) == set(MODULES)


@pytest.mark.parametrize("format", sorted(WRITERS))
def test_one_step_with_one_call_is_read_alike_from_every_format(tmp_path, format):
    events = imported_talk(tmp_path, format, Turn("Go.", (Said("I look.\n", (Call("c1"),)),)))
    counts = count(events, format)
    assert (counts.turns, counts.steps, counts.tool_calls, counts.tool_errors) == (1, 1, 1, 0)
    assert [text for text in texts(events) if text] == ["Go."]
    assert texts(events, AssistantMessage)[0].startswith("I look.")
    assert [text.strip() for text in results(events).values()] == ["a.py"]


@pytest.mark.parametrize("format", sorted({"claude-code", "codex-rollout", "openhands"}))
def test_naive_case_1_one_response_in_several_records_is_one_step(tmp_path, format):
    calls = (Call("c1"), Call("c2", "pwd", "/w"), Call("c3", "id", "root"))
    events = imported_talk(tmp_path, format, Turn("Go.", (Said("I look.", calls), Said("Done."))))
    counts = count(events, format)
    assert (counts.steps, counts.tool_calls) == (2, 3)
    assert list(results(events).values()) == ["a.py", "/w", "root"]


@pytest.mark.parametrize("format", CALLING)
def test_naive_case_4_a_call_without_a_result_is_closed_as_unknown(tmp_path, format):
    calls = (Call("c1", output=None), Call("c2"))
    steps = (Said("I look.", calls), Said("Done."))
    events = imported_talk(tmp_path, format, Turn("Go.", steps), Turn("More."))
    assert [line for line in told(events) if line.split()[0] in ("unknown", "result")] == [
        "unknown c1",
        "result c2: a.py",
    ]
    assert count(events, format).tool_errors == 0


@pytest.mark.parametrize(
    "format", sorted(set(CALLING) - {"opencode", "gemini-cli", "dsh-session", "openhands"})
)
def test_naive_case_4_a_result_without_a_call_is_kept_aside(tmp_path, format):
    path = transcript(tmp_path, format, [Turn("Go.", (Said("I look.", (Call("c1"),)),))])
    rows = path.read_text()
    at = rows.rindex('"c1"')
    path.write_text(rows[:at] + '"nobody"' + rows[at + 4 :])
    lines = told(read(path))
    assert "unknown c1" in lines
    assert "x/orphan-result" in lines


@pytest.mark.parametrize("format", CALLING)
def test_naive_case_5_results_out_of_order_and_equal_inputs_pair_by_id(tmp_path, format):
    calls = (Call("c1", "ls", "first"), Call("c2", "ls", "second"), Call("c3", "ls", "third"))
    events = imported_talk(tmp_path, format, Turn("Go.", (Said("", calls),)))
    assert results(events) == {"c1": "first", "c2": "second", "c3": "third"}


@pytest.mark.parametrize("format", sorted(set(CALLING) - {"dsh-session"}))
def test_naive_case_5_masked_ids_pair_by_order_and_keep_what_they_were(tmp_path, format):
    calls = (Call("REDACTED", "ls", "first"),)
    steps = (Said("", calls), Said("", (Call("REDACTED", "ls", "second"),)))
    events = imported_talk(tmp_path, format, Turn("Go.", steps))
    assert results(events) == {"REDACTED": "first", "REDACTED#2": "second"}
    last = [event for event in events if isinstance(event, ToolResult)][-1]
    assert json.loads(bytes(last.data.meta))["originalCallId"] == "REDACTED"


@pytest.mark.parametrize("format", sorted(set(CALLING) - {"dsh-session"}))
def test_naive_case_4_empty_ids_pair_by_order(tmp_path, format):
    calls = (Call("", "ls", "only"),)
    events = imported_talk(tmp_path, format, Turn("Go.", (Said("", calls),)))
    assert list(results(events).values()) == ["only"]
    assert all(event.data.call_id for event in events if isinstance(event, ToolCalled))


@pytest.mark.parametrize("format", TALKING)
def test_naive_case_6_a_turn_that_was_never_answered_has_no_step(tmp_path, format):
    turns = (Turn("Go.", (Said("Done."),)), Turn("And now?"))
    events = imported_talk(tmp_path, format, *turns)
    counts = count(events, format)
    assert (counts.turns, counts.steps) == (2, 1)
    assert [text for text in texts(events) if text] == ["Go.", "And now?"]


@pytest.mark.parametrize("format", CALLING)
def test_naive_case_6_empty_text_is_a_message_all_the_same(tmp_path, format):
    events = imported_talk(tmp_path, format, Turn("", (Said(""), Said("Hi."))), Turn("Go."))
    counts = count(events, format)
    assert (counts.turns, counts.steps) == (2, 2)


@pytest.mark.parametrize("format", sorted(set(WRITERS) - {"aider-md"}))
def test_naive_case_6_a_first_step_without_a_message_opens_an_automatic_turn(tmp_path, format):
    events = imported_talk(tmp_path, format, Turn(None, (Said("I wake.", (Call("c1"),)),)))
    counts = count(events, format)
    assert (counts.turns, counts.steps, counts.tool_calls) == (0, 1, 1)
    assert isinstance(events[0], TurnStart)


@pytest.mark.parametrize("format", sorted(set(WRITERS) - {"aider-md", "swe-agent", "dsh-session"}))
def test_naive_case_8_a_side_model_speaks_within_a_turn(tmp_path, format):
    steps = (Said("One.", model="big"), Said("Two.", model="small"), Said("Three.", model="big"))
    if format == "mini-swe-agent":
        steps = tuple(Said(said.text, (Call("c"),), said.model) for said in steps)
    events = imported_talk(tmp_path, format, Turn("Go.", steps))
    said = [event for event in events if isinstance(event, AssistantMessage)]
    assert [event.data.message.source.model for event in said] == ["big", "small", "big"]
    headers = [event for event in events if isinstance(event, RequestHeader)]
    assert [header.data.header.config.model for header in headers] == ["big", "small", "big"]
    assert [header.data.reason for header in headers] == ["initial", "change", "change"]


HOSTILE = "a\r\nb\rc\x1b[31m\x00\u2028\u0085\x0c\ud800 é 😀 [slice tape v1 · turns 1-1] </turn>\t"


@pytest.mark.parametrize("format", sorted(set(WRITERS) - {"aider-md"}))
def test_naive_case_10_control_characters_and_lone_surrogates_come_back(tmp_path, format):
    call = Call("c1", "ls", HOSTILE)
    events = imported_talk(tmp_path, format, Turn(HOSTILE, (Said(HOSTILE, (call,)),)))
    assert texts(events)[0] == HOSTILE
    assert texts(events, AssistantMessage) == [HOSTILE]
    assert list(results(events).values()) == [HOSTILE]


def test_naive_case_10_aider_keeps_every_byte_of_a_line(tmp_path):
    hostile = HOSTILE.translate(dict.fromkeys(map(ord, "\n\0\ud800")))
    call = Call("c1", "ls", hostile)
    events = imported_talk(tmp_path, "aider-md", Turn(hostile, (Said(hostile, (call,)),)))
    assert texts(events) == [hostile]
    assert texts(events, AssistantMessage) == [hostile + "\n"]
    assert list(results(events).values()) == [hostile + "\n"]


@pytest.mark.parametrize("format", sorted(WRITERS))
def test_naive_case_11_a_line_of_two_megabytes_is_read_whole(tmp_path, format):
    long = "x" * (2 << 20)
    events = imported_talk(
        tmp_path, format, Turn("Go.", (Said("I look.", (Call("c", "ls", long),)),))
    )
    assert [text.strip() for text in results(events).values()] == [long]


@pytest.mark.parametrize("format", TALKING)
def test_naive_case_3_only_what_a_person_wrote_is_human(tmp_path, format):
    turns = (Turn("Go.", (Said("I look.", (Call("c1", "ls", "Go on."),)),)), Turn("Thanks."))
    events = imported_talk(tmp_path, format, *turns)
    human = [event for event in events if is_human(event)]
    assert texts(human) == ["Go.", "Thanks."]
