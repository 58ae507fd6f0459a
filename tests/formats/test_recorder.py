import msgspec
from hypothesis import given
from hypothesis import strategies as st

import event_rules
from imported import told
from slicetape.formats.recorder import HUMAN, Answer, Recorder, Route, plugin
from slicetape.log.codec import decode_event, encode_event
from slicetape.log.events import (
    AssistantMessage,
    Foreign,
    RequestContext,
    RequestHeader,
    SystemMessage,
    ToolResult,
    TurnEnd,
    UserMessage,
    type_of,
)
from slicetape.log.messages import Reasoning, Text
from slicetape.log.payloads import Usage


def parsed(data):
    return msgspec.json.decode(data)


def said(text):
    return (Text(text),)


def recorded(recorder):
    recorder.end()
    events = recorder.take()
    event_rules.hold(events)
    return events


def test_a_first_turn_has_the_order_of_a_host():
    recorder = Recorder("s", created_at=1000)
    recorder.system(said("Be brief."))
    recorder.route(Route("anthropic", "opus", window=200_000))
    recorder.at(1)
    recorder.turn(said("hi"))
    recorder.note(said("a reminder"), source=plugin("x:reminder"))
    recorder.at(2)
    recorder.step(id="r1", usage=Usage(input_tokens=5))
    recorder.say(Text("Looking."))
    recorder.call("c1", "read", "{}")
    recorder.at(3)
    recorder.result("c1", Answer(said("text"), is_error=False))
    recorder.step()
    recorder.say(Text("Done."))
    events = recorded(recorder)
    assert [type_of(event) for event in events] == [
        "turn/start",
        "step/start",
        "system/message",
        "user/message",
        "user/message",
        "request/header",
        "request/context",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "step/start",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert [event.time for event in events] == [1001] * 5 + [1002] * 4 + [1003] * 6
    assert events[9].sources == (8,)
    assert events[7].data.message.id == "r1"
    assert events[12].data.message.id == "s:12"


def test_a_turn_without_a_step_is_its_message_only():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("anyone?"))
    assert [type_of(event) for event in recorded(recorder)] == [
        "turn/start",
        "user/message",
        "turn/end",
    ]


def test_a_step_before_any_message_opens_a_turn_of_its_own():
    recorder = Recorder("s", created_at=1)
    recorder.say(Text("Hello."))
    assert told(recorded(recorder)) == ["turn", "step", "Hello.", "end completed"]


def test_a_message_that_arrives_during_a_step_stands_after_its_results():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("go"))
    recorder.call("a", "bash", "{}")
    recorder.note(said("also this"))
    recorder.result("a", Answer(said("out")))
    recorder.step()
    recorder.say(Text("ok"))
    recorder.note(said("too late"))
    assert told(recorded(recorder)) == [
        "turn",
        "step",
        "user: go",
        "call a bash {}",
        "result a: out",
        "step",
        "user: also this",
        "ok",
        "user: too late",
        "end completed",
    ]


def test_results_out_of_order_stand_in_the_order_of_their_calls():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("go"))
    recorder.call("a", "read", "1")
    recorder.call("b", "read", "1")
    recorder.result("b", Answer(said("of b")))
    recorder.result("a", Answer(said("of a")))
    events = recorded(recorder)
    assert told(events)[-3:] == ["result a: of a", "result b: of b", "end completed"]


def test_used_and_empty_ids_get_a_number_and_the_result_keeps_the_original():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("go"))
    ids = [recorder.call(id, "t", "") for id in ("", "X", "X", "X#3", "X", "")]
    assert ids == ["#2", "X", "X#2", "X#3", "X#4", "#3"]
    for text in ("second", "third", "fourth"):
        recorder.result("X", Answer(said(text)))
    recorder.result("", Answer(said("first")))
    results = [event for event in recorded(recorder) if isinstance(event, ToolResult)]
    metas = [parsed(event.data.meta) if event.data.meta else None for event in results]
    original = [meta and meta["originalCallId"] for meta in metas]
    assert original == ["", None, "X", None, "X", ""]
    assert told(results)[:3] == ["result #2: first", "result X: second", "result X#2: third"]


def test_a_call_without_a_result_is_closed_as_unknown_before_the_next_message():
    recorder = Recorder("s", created_at=10)
    recorder.turn(said("go"))
    recorder.at(1)
    recorder.call("a", "bash", "{}")
    recorder.at(2)
    recorder.turn(said("stop that"))
    events = recorded(recorder)
    (closer,) = [event for event in events if isinstance(event, ToolResult)]
    assert closer.data.error.code == "TOOL_OUTCOME_UNKNOWN"
    assert closer.data.message.id == f"interrupted-tool-result-a-{closer.seq}"
    assert closer.time == 11
    assert told(events)[3:6] == ["call a bash {}", "unknown a", "end completed"]


def test_a_result_that_no_call_asked_for_is_kept_aside():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("go"))
    recorder.call("a", "bash", "{}")
    assert not recorder.result("z", Answer(said("lost"), is_error=True))
    assert recorder.result("a", Answer(said("one")))
    assert not recorder.result("a", Answer(said("two")))
    orphans = [event for event in recorded(recorder) if isinstance(event, Foreign)]
    assert [event.kind for event in orphans] == ["x/orphan-result"] * 2
    assert parsed(orphans[0].data) == {
        "callId": "z",
        "isError": True,
        "content": [{"type": "text", "text": "lost"}],
    }


def test_a_header_is_written_when_the_route_changes_and_only_then():
    recorder = Recorder("s", created_at=1)
    for model, window in (("a", None), ("a", None), ("a", 1000), ("b", 1000)):
        recorder.route(Route("p", model, window=window))
        recorder.step()
    recorder.step(model="c")
    events = recorded(recorder)
    headers = [event.data for event in events if isinstance(event, RequestHeader)]
    contexts = [event.data for event in events if isinstance(event, RequestContext)]
    assert [(data.header.config.model, data.reason) for data in headers] == [
        ("a", "initial"),
        ("b", "change"),
        ("c", "change"),
    ]
    assert [data.context_window for data in contexts] == [None, 1000, 1000, 1000]


def test_a_changed_system_prompt_replaces_the_first_node_and_a_repeated_one_nothing():
    recorder = Recorder("s", created_at=1)
    for prompt in ("one", "one", "two"):
        recorder.system(said(prompt))
        recorder.step()
    systems = [event for event in recorded(recorder) if isinstance(event, SystemMessage)]
    assert [event.data.message.content for event in systems] == [said("one"), said("two")]
    assert systems[1].surface_op.start_seq == systems[0].seq
    assert systems[1].sources == (systems[0].seq,)


def test_a_system_prompt_behind_other_messages_is_kept_aside():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("first"))
    recorder.step()
    recorder.system(said("late"))
    recorder.step()
    assert [event.kind for event in recorded(recorder) if isinstance(event, Foreign)] == [
        "x/system"
    ]


def test_reasons_end_a_turn_and_a_later_response_takes_them_back():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("a"))
    recorder.step()
    recorder.stop("error", message="overloaded", code="529")
    recorder.turn(said("b"))
    recorder.stop("aborted")
    recorder.step()
    recorder.turn(said("c"))
    recorder.step()
    recorder.cut()
    recorder.stop("aborted")
    events = recorded(recorder)
    reasons = [event.data.reason for event in events if isinstance(event, TurnEnd)]
    assert [reason.kind for reason in reasons] == ["error", "completed", "aborted"]
    assert reasons[0].error.message == "overloaded"
    assert parsed(reasons[2].reason) == {"kind": "user"}
    messages = [event.data for event in events if isinstance(event, AssistantMessage)]
    assert [data.interrupted for data in messages] == [None, None, True]


def test_opaque_state_stands_beside_its_block():
    recorder = Recorder("s", created_at=1)
    recorder.say(Text("a"))
    recorder.say(Reasoning("b"), state={"signature": "sig"})
    (message,) = [e for e in recorded(recorder) if isinstance(e, AssistantMessage)]
    state = parsed(message.data.message.source.replay_state)
    assert state == {"blocks": [{"type": "text"}, {"type": "reasoning", "signature": "sig"}]}


def test_asides_stand_where_they_were_said():
    recorder = Recorder("s", created_at=1)
    recorder.keep("x/a", {})
    recorder.turn(said("go"))
    recorder.keep("x/b", {})
    recorder.call("c", "t", "")
    recorder.keep("x/c", {})
    recorder.note(said("more"))
    recorder.keep("x/d", {})
    recorder.usage(Usage(input_tokens=1))
    recorder.settle()
    recorder.usage(Usage(input_tokens=2))
    recorder.cut()
    assert told(recorded(recorder)) == [
        "x/a",
        "turn",
        "step",
        "user: go",
        "x/b",
        "call c t ",
        "unknown c",
        "x/c",
        "user: more",
        "x/d",
        "end completed",
    ]


def test_a_note_without_a_turn_is_kept_aside():
    recorder = Recorder("s", created_at=1)
    assert not recorder.note(said("who?"), source=plugin("p:meta"))
    (event,) = recorded(recorder)
    assert parsed(event.data)["source"] == "p:meta"


def test_a_message_id_is_used_once():
    recorder = Recorder("s", created_at=1)
    recorder.turn(said("a"), id="u")
    recorder.turn(said("b"), id="u")
    ids = [event.data.id for event in recorded(recorder) if isinstance(event, UserMessage)]
    assert ids == ["u", "s:4"]


WORDS = st.text(max_size=8)
CALL_IDS = st.sampled_from(["", "a", "b", "a#2"])
MOVES = st.one_of(
    st.tuples(st.just("turn"), WORDS),
    st.tuples(st.just("note"), WORDS),
    st.tuples(st.just("step"), st.sampled_from(["", "m1", "m2"])),
    st.tuples(st.just("say"), WORDS),
    st.tuples(st.just("call"), CALL_IDS),
    st.tuples(st.just("result"), CALL_IDS),
    st.tuples(st.just("keep"), WORDS),
    st.tuples(st.just("system"), WORDS),
    st.tuples(st.just("settle"), st.none()),
    st.tuples(st.just("end"), st.none()),
)


@given(st.lists(MOVES, max_size=40))
def test_whatever_is_said_gives_events_that_keep_the_rules(moves):
    recorder = Recorder("s", created_at=1)
    events = []
    for line, (move, value) in enumerate(moves):
        recorder.at(line)
        match move:
            case "turn":
                recorder.turn(said(value), source=HUMAN)
            case "note":
                recorder.note(said(value))
            case "step":
                recorder.step(model=value)
            case "say":
                recorder.say(Text(value))
            case "call":
                recorder.call(value, "tool", "{}")
            case "result":
                recorder.result(value, Answer(said("out")))
            case "keep":
                recorder.keep("x/k", {"v": value})
            case "system":
                recorder.system(said(value))
            case "settle":
                recorder.settle()
            case _:
                recorder.end()
        events += recorder.take()
    recorder.end()
    events += recorder.take()
    event_rules.hold(events)
    for event in events:
        assert decode_event(encode_event(event)) == event
