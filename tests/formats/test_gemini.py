import event_rules
from imported import imported, kept, told, written
from slicetape.formats.counts import UsageCounts, count
from slicetape.formats.gemini import open_sessions
from slicetape.log.events import TurnEnd


def read(tmp_path, *messages):
    document = {"sessionId": "s", "startTime": "2026-02-01T10:00:00Z", "messages": messages}
    ((session, events),) = imported(open_sessions, written(tmp_path, document, "g.json"))
    event_rules.hold(events)
    return session, events


def response(**fields):
    return [{"functionResponse": {"id": "i", "name": "n", "response": fields}}]


def call(id, result, status="success"):
    return {
        "id": id,
        "name": "shell",
        "args": {"command": "ls"},
        "result": result,
        "status": status,
    }


def test_a_step_holds_thoughts_calls_and_results(tmp_path):
    thoughts = [{"subject": "A", "description": "b"}, {"subject": "C", "description": "d"}]
    blob = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    session, events = read(
        tmp_path,
        {"type": "user", "content": "go"},
        {
            "type": "gemini",
            "content": "I look.",
            "model": "gemini-x",
            "thoughts": thoughts,
            "tokens": {"input": 10, "output": 2, "cached": 4, "thoughts": 3},
            "toolCalls": [
                call("a", response(output="seen")),
                call("b", response(error="no"), "error"),
                call("c", None),
                call("d", [*response(other=1), blob, "text", {"fileData": {"u": 1}}]),
                call("e", "plain"),
            ],
        },
        {"type": "gemini", "content": [{"text": "x"}, "y"]},
        {"type": "info", "content": "update"},
        {"type": "user", "content": [{"text": "more"}]},
        {"type": "error", "content": "overloaded"},
        {"type": "user"},
    )
    assert told(events) == [
        "turn",
        "step",
        "user: go",
        "reasoning: A: b\nC: d",
        "I look.",
        *(f'call {id} shell {{"command": "ls"}}' for id in "abcde"),
        "result a: seen",
        "error b: no",
        "unknown c",
        'result d: {"other": 1}\n[image]\ntext\nOtherBlock',
        "result e: plain",
        "step",
        "x",
        "y",
        "x/info",
        "end completed",
        "turn",
        "user: more",
        "x/error",
        "end error",
        "turn",
        "user: ",
        "end completed",
    ]
    assert kept(events, "x/info") == [{"type": "info", "text": "update"}]
    assert session.header.created_at == 1769940000000
    counts = count(events, "gemini-cli")
    assert counts.usage == UsageCounts(fresh=6, read=4, written=0, out=5, peak=10)
    assert (counts.turns, counts.steps, counts.tool_errors, counts.images) == (3, 2, 1, 1)
    assert [e.data.reason.kind for e in events if isinstance(e, TurnEnd)][1] == "error"
