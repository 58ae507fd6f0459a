"""The line of a view takes over everything that slicetape does not read."""

import json

import msgspec

from slicetape.log.codec import decode_event
from slicetape.log.events import Replace, ToolResult
from slicetape.log.messages import Text, ToolResultBlock
from slicetape.loop.rewrite import rewritten
from story import PICTURE


def original() -> dict[str, object]:
    parts = [
        {"type": "text", "text": "long text", "cache": 1.0},
        msgspec.to_builtins(PICTURE),
    ]
    block = {"type": "tool-result", "toolCallId": "a", "content": parts, "why": None}
    message = {
        "content": [{"type": "text", "text": "aside", "tone": "dry"}, block],
        "source": {"kind": "tool", "callId": "a", "more": [1e2]},
        "role": "user",
        "id": "r",
    }
    data = {"ms": 3, "turn": 1, "step": 1, "message": message}
    return {"type": "tool/result", "seq": 4, "time": 9, "data": data, "surfaceOp": "append"}


def shown(event: ToolResult, text: str) -> ToolResult:
    block = event.data.message.content[1]
    assert isinstance(block, ToolResultBlock)
    changed = msgspec.structs.replace(block, content=(Text(text), block.content[1]))
    content = (event.data.message.content[0], changed)
    message = msgspec.structs.replace(event.data.message, content=content)
    return ToolResult(
        seq=7,
        time=10,
        data=msgspec.structs.replace(event.data, message=message),
        surface_op=Replace(4, 4),
        source_event_seqs=(4,),
    )


def test_all_but_text_and_place_is_the_originals() -> None:
    row = original()
    line = json.dumps(row).encode()
    event = decode_event(line)
    assert isinstance(event, ToolResult)
    made = rewritten(line, event, shown(event, "view"))
    assert made is not None
    said = json.loads(made)
    row["data"]["message"]["content"][1]["content"][0]["text"] = "view"  # type: ignore[index]
    place = {"seq": 7, "time": 10, "surfaceOp": {"op": "replace", "startSeq": 4, "endSeq": 4}}
    assert said == {**row, **place, "sourceEventSeqs": [4]}
    assert decode_event(made) == shown(event, "view")


def test_halves_of_characters_are_written_as_escapes() -> None:
    line = json.dumps(original()).encode()
    event = decode_event(line)
    assert isinstance(event, ToolResult)
    made = rewritten(line, event, shown(event, "half \ud83d"))
    assert made is not None
    assert decode_event(made) == shown(event, "half \ud83d")


def test_a_line_that_says_no_more_than_its_event_needs_no_rewriting() -> None:
    from slicetape.log.codec import encode_event

    event = decode_event(json.dumps(original()).encode())
    assert isinstance(event, ToolResult)
    assert rewritten(encode_event(event), event, shown(event, "view")) is None


def test_a_line_with_a_number_that_cannot_be_written_again_is_left_to_the_event() -> None:
    line = json.dumps(original()).encode().replace(b"100.0", b"1e999")
    event = decode_event(line)
    assert isinstance(event, ToolResult)
    assert rewritten(line, event, shown(event, "view")) is None
