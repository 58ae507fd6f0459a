"""Arms: what they are called, and what they do to the requests of a told session."""

from dataclasses import replace

import pytest

from replay_run import LONG, SETTING, fresh, recorded, under
from slicetape.errors import ConfigError, PriceError
from slicetape.log.events import ToolResult, UserMessage
from slicetape.log.messages import Text
from slicetape.replay.arms import arm, arms
from slicetape.replay.compacting import INSTRUCTION
from slicetape.replay.policies import OMITTED
from slicetape.replay.run import run
from story import Story


@pytest.fixture
def story() -> Story:
    """Three finished turns that each read a long file, and a fourth that is open."""
    told = Story()
    for number in range(1, 4):
        told.reading_turn(f"f{number}.txt", f"{number} {LONG}", f"answer {number}")
    told.start()
    told.human("and now?")
    told.says("nothing more")
    return told


class TestNames:
    def test_transcript_always_runs_and_comes_first(self) -> None:
        assert [made.name for made in arms("tape,mask:3")] == ["transcript", "tape", "mask:3"]
        assert [made.name for made in arms("tape,transcript,tape")] == ["transcript", "tape"]

    def test_settings_are_part_of_the_name(self) -> None:
        made = arm("tape{history.keepRecentTurns=2,history.entryMaxChars=400}")
        assert made.name == "tape{history.keepRecentTurns=2,history.entryMaxChars=400}"
        assert made.settings.history.keep_recent_turns == 2
        assert made.settings.history.entry_max_chars == 400
        assert not made.settings.history.seal_only_if_shorter

    def test_a_list_may_hold_settings_with_commas(self) -> None:
        text = "tape{history.keepRecentTurns=1,history.entryMaxChars=300},mask:5"
        assert len(arms(text)) == 3

    @pytest.mark.parametrize(
        "text", ["", "tap", "mask", "mask:", "mask:x", "tape:3", "tape{", "TAPE", "mask:9{a=b}"]
    )
    def test_an_unknown_arm_is_refused_with_the_names_there_are(self, text: str) -> None:
        with pytest.raises(PriceError):
            arm(text)

    def test_a_setting_that_is_none_is_refused(self) -> None:
        with pytest.raises(PriceError, match="key=value"):
            arm("tape{history.keepRecentTurns}")
        with pytest.raises(PriceError, match="takes no settings"):
            arm("transcript{history.keepRecentTurns=1}")
        with pytest.raises(ConfigError, match="keepRecent"):
            arm("tape{history.keepRecent=1}")


class TestTranscript:
    def test_every_request_extends_the_one_before(self, story: Story) -> None:
        done = under("transcript", story)
        assert done.meter.tally.requests == 7
        assert done.meter.tally.breaks_in_turn == done.meter.tally.breaks_at_seal == 0
        totals = [row.request.total for row in done.sent]
        assert totals == sorted(totals)
        assert done.meter.tally.peak_tokens == totals[-1]

    def test_what_is_sent_is_what_was_recorded(self, story: Story) -> None:
        done = under("transcript", story)
        assert len(done.session.log.events) == len(story.events)
        assert [type(e) for e in done.session.log.events] == [type(e) for e in story.events]

    def test_output_is_equal_in_every_arm(self, story: Story) -> None:
        outputs = {
            name: [row.output for row in under(name, story).sent]
            for name in ("transcript", "tape", "mask:1")
        }
        assert outputs["transcript"] == outputs["tape"] == outputs["mask:1"]


class TestTape:
    def test_each_finished_turn_becomes_one_entry(self, story: Story) -> None:
        done = under("tape", story)
        assert len(done.entries) == 3
        assert done.meter.tally.breaks_at_seal == 3
        assert done.meter.tally.breaks_in_turn == 0
        assert len(done.policy_ms) == 4

    def test_an_entry_stands_behind_the_turn_start_and_ahead_of_the_step(
        self, story: Story
    ) -> None:
        done = under("tape", story)
        kinds = [type(event).__name__ for event in done.session.log.events]
        first = done.entries[0].seq
        assert kinds[first - 1] == "TurnStart"
        assert "AssistantMessage" in kinds[first + 1 :]

    def test_citations_follow_the_new_numbers(self, story: Story) -> None:
        done = under("tape", story)
        for event in done.session.log.events:
            assert all(source < event.seq for source in event.sources)

    def test_requests_are_smaller_than_the_transcript(self, story: Story) -> None:
        plain, tape = under("transcript", story), under("tape", story)
        assert tape.meter.tally.input_tokens < plain.meter.tally.input_tokens / 2

    def test_a_message_that_no_tape_may_touch_stands_in_every_request(self, story: Story) -> None:
        done = under("tape", story)
        humans = [
            event
            for event in done.session.log.events
            if isinstance(event, UserMessage) and event.data.source.kind == "user"
        ]
        assert len(humans) == 4
        assert all(event.seq in done.session.view.surface for event in humans)


class TestMask:
    def test_all_but_the_last_results_lose_their_text(self, story: Story) -> None:
        done = under("mask:1", story)
        shown = [
            event
            for seq in done.session.view.surface.nodes
            if isinstance(event := done.session.view.events[seq], ToolResult)
        ]
        texts = [part.text for event in shown for part in event.data.message.content[0].content]
        assert texts[:2] == [OMITTED, OMITTED]
        assert texts[2].startswith("3 a line")

    def test_masking_rewrites_what_was_sent(self) -> None:
        story = Story()
        story.start()
        story.human()
        for number in range(4):
            step = story.step_start().data.step
            story.says(calls={f"c{number}": ("read", {"path": "a.txt"})}, step=step)
            story.result(f"c{number}", LONG)
        tally = under("mask:1", story).meter.tally
        assert tally.breaks_in_turn > 0
        assert "changed by event" in (tally.first_break or "")

    def test_flags_ids_and_meta_stay(self, story: Story) -> None:
        done = under("mask:0", story)
        masked = [e for e in done.session.log.events if isinstance(e, ToolResult)]
        for event in masked:
            if not event.is_original:
                original = done.session.view.events[event.sources[0]]
                assert isinstance(original, ToolResult)
                assert event.data.message.id == original.data.message.id
                assert event.data.message.content[0].content == (Text(OMITTED),)


class TestCompact:
    def test_nothing_happens_below_the_threshold(self, story: Story) -> None:
        done = under("compact", story, window=1_000_000)
        assert done.compactions == 0
        assert done.meter.tally.breaks_in_turn + done.meter.tally.breaks_at_seal == 0

    def test_nothing_happens_before_the_first_request(self) -> None:
        story = Story()
        story.start()
        story.human(LONG)
        story.human(LONG)
        story.says("done")
        assert under("compact", story, window=1_000).compactions == 0

    def test_a_full_window_is_pruned_and_summarised_and_the_call_is_paid(
        self, story: Story
    ) -> None:
        done = under("compact", story, window=6_000)
        kinds = [type(event).__name__ for event in done.session.log.events]
        assert done.compactions == kinds.count("CompactionSummary") >= 1
        assert done.meter.tally.requests == 7 + kinds.count("CompactionStart")
        assert kinds.count("CompactionStart") == kinds.count("CompactionEnd")

    def test_a_summary_call_repeats_the_start_of_the_request_and_asks_for_output(
        self, story: Story
    ) -> None:
        done = under("compact", story, window=6_000)
        call = next(sent for sent in done.sent if sent.request.answer is None)
        before = done.sent[done.sent.index(call) - 1].request.prefix
        assert call.request.prefix.shared_with(before) is call.request.prefix.parent
        assert call.request.total == call.request.prefix.parent.tokens + INSTRUCTION
        assert call.output > 0

    def test_the_answer_is_counted_once_when_the_window_is_measured(self) -> None:
        story = Story()
        story.start()
        story.human("go")
        for step in (1, 2, 3):
            story.says("w" * 1_000, step=step)
        full = under("compact", story, window=4_000)  # two answers are 2,000 and some of 3,200
        assert full.compactions == 0
        assert under("compact", story, window=2_500).session.log.events != full.session.log.events

    def test_what_stands_ahead_of_the_messages_fills_the_window_too(self) -> None:
        story = Story()
        story.start()
        for step in range(1, 6):
            story.human("a question " * 400)
            story.says("an answer", step=step)
        summaries = [
            run(
                recorded(story),
                arm("compact"),
                fresh(lambda text: len(text) // 4),
                replace(SETTING, window=8_000, head=head),
            ).compactions
            for head in (0, 3_000)
        ]
        assert summaries[0] == 0 < summaries[1]

    def test_calls_and_results_still_pair(self, story: Story) -> None:
        assert under("compact", story, window=6_000).meter.tally.lint_errors == 0

    def test_a_large_result_is_pruned_to_head_and_tail(self) -> None:
        story = Story()
        story.start()
        story.human()
        story.reads("big.txt", "x" * 30_000)
        story.says("read it")
        story.says("and done")
        story.end()
        done = under("compact", story, window=8_000)
        pruned = [
            event
            for event in done.session.log.events
            if isinstance(event, ToolResult) and not event.is_original
        ]
        assert pruned
        text = pruned[0].data.message.content[0].content[0].text
        assert "middle pruned" in text
        assert len(text) < 6_000

    def test_a_prompt_renewed_behind_a_compaction_still_arrives(self) -> None:
        story = Story()
        story.start()
        story.human("one")
        prompt = story.system("the rules")
        for step in range(1, 9):
            story.says("w" * 500, step=step)
        story.system("newer rules", replaces=prompt)
        story.says("done", step=9)
        done = under("compact", story, window=3_000)
        assert done.compactions > 0
        newest = done.session.view.surface.nodes[-2]
        assert "newer rules" in str(done.session.view.events[newest])


def test_recorded_nodes_are_counted_and_encoded_once_for_all_arms(story: Story) -> None:
    nodes, recording = fresh(), recorded(story)
    run(recording, arm("transcript"), nodes, SETTING)
    texts, messages = nodes.counts.counted, nodes.encoded
    assert messages == len([event for event in story.events if event.surface_op])
    run(recording, arm("transcript"), nodes, SETTING)
    assert (nodes.counts.counted, nodes.encoded) == (texts, messages)
    run(recording, arm("mask:1"), nodes, SETTING)
    assert (nodes.counts.counted, nodes.encoded) == (texts + 2, messages + 2)
    run(recording, arm("tape"), nodes, SETTING)
    assert (nodes.counts.counted, nodes.encoded) == (texts + 5, messages + 5)


def test_texts_of_the_recording_are_shared_by_all_arms(story: Story) -> None:
    recording = recorded(story)
    done = run(recording, arm("transcript"), fresh(), SETTING)
    for ours, theirs in zip(done.session.log.events, recording.events, strict=True):
        assert ours.data is theirs.data


def test_a_recording_drops_what_policies_wrote_and_keeps_the_hosts_prompt_updates() -> None:
    story = Story()
    story.start()
    head = story.system("first prompt")
    story.human()
    result = story.reads("a.txt", LONG)
    story.view_of(result, "folded")
    story.says("done")
    story.end()
    story.aside("x/seal", {"left": [1]})
    story.system("second prompt", replaces=head)
    kept = recorded(story)
    assert len(kept.events) == len(story.events) - 2
    assert kept.facts.has_system
    assert kept.facts.turns == 1
    assert kept.facts.tool_calls == 1
    done = run(kept, arm("tape"), fresh(), SETTING)
    assert done.session.view.surface.nodes
