"""Whatever is compacted, a call and its result stay together."""

from hypothesis import given
from hypothesis import strategies as st

from compacted_story import Compacted
from slicetape.log.events import ToolResult
from slicetape.log.messages import ToolCall, ToolResultBlock
from slicetape.loop.compaction import CompactionSettings
from slicetape.surface import messages
from story import Story

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["human", "says", "calls", "late", "orphan", "prompt"]),
        st.integers(1, 3),
        st.sampled_from([4, 400, 900]),
    ),
    max_size=25,
)


@given(STEPS, st.sampled_from([300, 1_000, 4_000]), st.sampled_from([0.0, 0.16, 0.6]))
def test_no_compaction_parts_a_call_from_its_result(
    steps: list[tuple[str, int, int]], window: int, retain: float
) -> None:
    story = Compacted(CompactionSettings(window=window, retain=retain))
    story.start()
    waiting: list[str] = []
    for number, (what, count, size) in enumerate(steps):
        text = "w" * size
        if what == "human":
            story.human(text)
        elif what == "says":
            story.says(text)
        elif what == "orphan":
            story.result(f"nobody-{number}", text)
        elif what == "prompt" and number == 0:
            story.system(text)
        elif what in ("calls", "late"):
            ids = [f"c{number}-{n}" for n in range(count)]
            story.says(text, calls=dict.fromkeys(ids, ("read", {})))
            waiting += ids
            while waiting and what == "calls":
                story.result(waiting.pop(0), text)
        if waiting:
            continue
        newest = story.view.surface.nodes[-1:]
        story.compact()
        assert story.view.surface.nodes[-1:] == newest
        assert all(called == answered for called, answered in _pairs(story).values())


def _pairs(story: Story) -> dict[str, tuple[bool, bool]]:
    """For each call with a result in the log: whether each of them stands on the surface."""
    called: dict[str, bool] = {}
    answered: dict[str, bool] = {}
    for _, message in messages(story.view):
        for block in message.content:
            if isinstance(block, ToolCall):
                called[block.id] = True
            elif isinstance(block, ToolResultBlock):
                answered[block.tool_call_id] = True
    logged = {
        block.tool_call_id
        for event in story.events
        if isinstance(event, ToolResult)
        for block in event.data.message.content
        if isinstance(block, ToolResultBlock)
    }
    return {
        id: (called.get(id, False), answered.get(id, False))
        for id in logged
        if not id.startswith("nobody")
    }
