"""Every recorded reply wrapper, whole and cut."""

import json
import re
from typing import Any

from data import shared
from slicetape.policy.entry import Part, Reply, parts_of, wrap
from slicetape.policy.shrink import shorten
from story import Story

LEVEL_2 = (2_000, 1_400, 500)
CASES = json.loads(shared("golden/tape/reply-wrapper.json").read_text())["cases"]


def rendered(case: dict[str, Any]) -> str:
    found = re.fullmatch(r"slice-turn-(\d+)-step-(\d+)-seq-(\d+)", case["id"])
    assert found
    turn, step, seq = map(int, found.groups())
    part, reply, caps = Part(turn), Reply(step, seq, case["text"]), case["caps"]
    if caps is None:
        return wrap(part, reply)
    return shorten(part, reply, LEVEL_2 if caps == "default" else tuple(caps.values()))


def test_wrappers_are_as_recorded() -> None:
    spoken = [case for case in CASES if case["text"]]
    assert len(spoken) == 161
    for case in spoken:
        # Recorded before the entry drops trailing newlines, of which our lines have none.
        assert rendered(case) == case["expected"].removesuffix("\n"), case


def test_a_message_without_text_is_no_reply_and_its_recorded_wrapper_is_empty() -> None:
    assert {case["expected"] for case in CASES if not case["text"]} == {""}
    story = Story()
    story.start()
    silent = story.says("")
    (part,) = parts_of(story.view, [silent.seq])
    assert part.replies == ()
    assert part.empties == 1
