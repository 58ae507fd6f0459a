"""Whether what an arm hid comes back: through entries, views, pages and searches, or not at all."""

from collections.abc import Mapping
from functools import partial

import pytest

from evidence_story import Watched, measured, told
from replay_run import recorded
from slicetape.errors import RecallError
from slicetape.recall.tools import Recall, dispatch
from slicetape.replay.evidence.hits import Hits
from slicetape.replay.evidence.recovery import all_hidden, recovered
from slicetape.replay.recording import Recording
from slicetape.replay.recoverable import Ask, Reader
from slicetape.replay.run import Run
from story import Story


def counted(recording: Recording, done: Run, ask: Ask | None = None) -> tuple[int, int]:
    """Hidden references, and those that came back."""
    assert done.visibility
    reader = Reader.of(Recall.of(done.session.view), ask=ask)
    hidden = len(list(all_hidden(done.visibility.seen)))
    return hidden, recovered(done.visibility, reader, Hits(recording))


@pytest.mark.parametrize(
    "name", ["tape", "tape{history.entryMaxChars=700}", "tape{history.entryMaxChars=256}"]
)
def test_everything_that_was_sealed_comes_back(name: str) -> None:
    total = 0
    for seed in range(20):
        recording = recorded(told(seed))
        hidden, back = counted(recording, measured(recording, name))
        assert hidden == back
        total += hidden
    assert total > 20


def story() -> Story:
    it = Story()
    it.start()
    it.human("read it")
    it.says(calls={id: ("bash", {"command": id}) for id in "ab"})
    it.results({"a": ("port_7443\n" + "filler\n" * 30,), "b": ("port_7444\n" + "more\n" * 30,)})
    it.end()
    it.start()
    it.human("which port?")
    it.says("port_7443 or port_7444")
    return it


def folded(head: str, ask_of: object = None) -> tuple[int, int]:
    """Hidden and recovered when the result of the story is a view with this head."""
    watched = Watched(story())

    def act(watched: Watched, at: int) -> None:
        if at == len(watched.recording.events) - 1:
            result = watched.result()
            watched.story.view_of(result, head.replace("SEQ", str(result.seq)))

    watched.send(act)
    recall = Recall.of(watched.session.view)
    asked: list[str] = []

    def ask(name: str, arguments: Mapping[str, object]) -> str:
        asked.append(name)
        if ask_of and name not in ask_of:  # type: ignore[operator]
            raise RecallError("gone")
        return dispatch(name, arguments, recall)

    back = recovered(watched.visibility, Reader.of(recall, ask=ask), Hits(watched.recording))
    hidden = len(list(all_hidden(watched.visibility.seen)))
    assert asked
    return hidden, back


BOTH = (
    '[expand_result({"seq":SEQ,"formatVersion":3,"block":1}) '
    'expand_result({"seq": SEQ, "formatVersion": 3, "block": 2})]'
)
"""The head of a view that names each block of a result."""


class TestViews:
    @pytest.mark.parametrize(
        "head",
        [
            '[bash · log · expand_result({"seq": SEQ, "formatVersion": 3}) returns the full text]',
            '[bash · log · expand_result({"seq":SEQ,"formatVersion":3}) returns the full text]',
            BOTH,
        ],
    )
    def test_the_head_of_a_view_is_followed(self, head: str) -> None:
        assert folded(head, {"expand_result"}) == (2, 2)

    def test_one_block_is_not_the_whole_result(self) -> None:
        head = '[x · expand_result({"seq":SEQ,"formatVersion":3,"block":1})]'
        assert folded(head, {"expand_result"}) == (2, 0)

    def test_what_a_result_says_is_not_followed(self) -> None:
        text = '[x]\nexpand_result({"seq":SEQ,"formatVersion":3})'
        assert folded(text, {"recall_search"}) == (2, 0)

    def test_what_no_head_names_is_found_by_a_search(self) -> None:
        assert folded("[x]") == (2, 2)

    def test_a_locator_of_another_format_brings_nothing(self) -> None:
        head = '[x · expand_result({"seq":SEQ,"formatVersion":2})]'
        assert folded(head, {"expand_result"}) == (2, 0)


def test_a_sealed_result_that_changed_is_not_recovered() -> None:
    recording = recorded(story())
    done = measured(recording, "tape")
    recall = Recall.of(done.session.view)

    def ask(name: str, arguments: Mapping[str, object]) -> str:
        return dispatch(name, arguments, recall).replace("filler", "Filler", 1)

    hidden, back = counted(recording, done, ask)
    assert (hidden, back) == (2, 0)


def test_an_arm_without_recall_tools_brings_nothing_back() -> None:
    recording = recorded(story())
    done = measured(recording, "mask:0")
    hidden, back = counted(recording, done, partial(dispatch, recall=None))
    assert hidden == 2
    assert back == 0
