"""The arms that fold: what they send, and that all they hide comes back."""

import msgspec
import pytest

from data import shared
from folded_story import document, noisy_log, text_at
from replay_run import under
from slicetape.log.events import ToolResult
from slicetape.log.messages import Text, ToolResultBlock
from slicetape.recall.tools import Recall
from slicetape.replay.arms import arm, arms
from slicetape.replay.recoverable import recover
from slicetape.replay.replay import Options, recordings, replay_session
from slicetape.replay.run import Run
from story import Story

PEER = "peer-transcript/transcript.json"


@pytest.fixture
def story() -> Story:
    """Two finished turns with large results, and a third that is open."""
    told = Story()
    told.start()
    told.human("look")
    told.reads("a.md", document())
    told.says(calls={"m": ("bash", {"command": "make"})})
    told.result("m", noisy_log())
    told.says("looked")
    told.end()
    told.reading_turn("b.md", document(name="b"), "read it")
    told.start()
    told.human("and now?")
    told.says("nothing more")
    return told


def bodies(done: Run) -> list[str]:
    return [text_at(view).partition("\n")[2] for view in done.views]


class TestArms:
    def test_fold_shows_views_and_seals_nothing(self, story: Story) -> None:
        done = under("fold", story)
        assert len(done.views) == 3
        assert done.entries == []
        assert done.meter.tally.breaks_in_turn == done.meter.tally.breaks_at_seal == 0

    def test_slicetape_seals_what_it_folded(self, story: Story) -> None:
        done = under("slicetape", story)
        assert len(done.views) == 3
        assert len(done.entries) == 2
        assert bodies(done) == bodies(under("fold", story))
        assert done.meter.tally.breaks_in_turn == 0
        whole = under("transcript", story).meter.tally.input_tokens
        assert done.meter.tally.input_tokens < under("fold", story).meter.tally.input_tokens < whole

    def test_tape_folds_nothing(self, story: Story) -> None:
        assert under("tape", story).views == []

    def test_both_take_settings(self, story: Story) -> None:
        assert under("fold{fold.enabled=false}", story).views == []
        assert (
            under("slicetape{digest.minChars=100000,digest.logMinChars=100000}", story).views == []
        )
        assert under("slicetape{history.keepRecentTurns=9}", story).entries == []
        assert arm("fold{fold.pinSteps=1}").settings.fold.pin_steps == 1

    def test_the_policy_is_timed_at_every_step_that_it_folds_at(self, story: Story) -> None:
        assert len(under("fold", story).policy_ms) == 6
        assert len(under("tape", story).policy_ms) == 3


class TestRecoverable:
    def test_views_lead_back_to_their_originals(self, story: Story) -> None:
        done = under("fold", story)
        recovery = recover(Recall.of(done.session.view), (), views=done.views)
        assert (recovery.hidden, recovery.share) == (3, 1.0)

    def test_a_view_with_a_damaged_head_does_not(self, story: Story) -> None:
        done = under("fold", story)
        broken = with_text(done.views[0], text_at(done.views[0]).replace('"seq": ', '"seq": 9'))
        views = [broken, *done.views[1:]]
        recovery = recover(Recall.of(done.session.view), (), views=views)
        assert recovery.missing == (broken.seq,)


def with_text(view: ToolResult, text: str) -> ToolResult:
    (block,) = view.data.message.content
    assert isinstance(block, ToolResultBlock)
    content = (msgspec.structs.replace(block, content=(Text(text),)),)
    message = msgspec.structs.replace(view.data.message, content=content)
    return msgspec.structs.replace(view, data=msgspec.structs.replace(view.data, message=message))


def test_the_peer_transcript_is_cheapest_sealed_and_folded_and_all_of_it_comes_back() -> None:
    (recording,) = recordings(shared(PEER))
    report = replay_session(recording, Options(arms=arms("tape,fold,slicetape"), head=0))
    made = report.arms
    assert [made[name].recoverable for name in ("tape", "fold", "slicetape")] == [1.0, 1.0, 1.0]
    assert sum(made[name].prefix_breaks_in_turn for name in ("fold", "slicetape")) == 0
    sent = {name: row.sent_chars for name, row in made.items()}
    assert sent["slicetape"] < 0.09 * sent["transcript"]
    assert sent["slicetape"] < sent["tape"] < sent["fold"] < 0.55 * sent["transcript"]
