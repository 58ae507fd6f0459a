"""Recordings that lack what most have, and logs that a policy has worked on before."""

from dataclasses import replace

from replay_run import LONG, recorded, under
from sealed_story import SealedStory
from slicetape.log.events import AssistantAttempt, UserMessage
from slicetape.log.messages import Message, Source, text_of
from slicetape.log.payloads import AttemptData
from slicetape.replay.counting import IMAGE
from story import PICTURE, Story


class TestShapes:
    """Recordings that lack what most have."""

    def test_a_session_without_events_sends_nothing(self) -> None:
        for name in ("transcript", "tape", "compact", "mask:1"):
            done = under(name, Story())
            assert done.sent == []
            assert done.meter.tally.requests == 0

    def test_a_turn_without_an_answer_sends_nothing(self) -> None:
        story = Story()
        for number in range(3):
            story.reading_turn(f"{number}.txt", LONG)
        story.start()
        story.human("and now?")
        story.says("nothing more")
        requests = under("tape", story).meter.tally.requests
        story.end()
        story.start()
        story.human("are you there?")
        done = under("tape", story)
        assert done.meter.tally.requests == requests
        assert len(done.entries) == 4

    def test_turns_that_nobody_typed_are_sealed_like_others(self) -> None:
        story = Story()
        for number in range(3):
            story.start()
            story.notice(f"job {number} is done")
            story.reads("a.txt", LONG)
            story.says("seen")
            story.end()
        recording = recorded(story)
        assert recording.facts.turns == 0
        assert len(under("tape", story).entries) == 2

    def test_without_step_events_an_arm_still_acts_at_every_step(self) -> None:
        with_events, without = Story(), Story()
        for story in (with_events, without):
            story.start()
            story.human()
            for number in range(4):
                if story is with_events:
                    story.step_start()
                    story.step -= 1
                story.says(calls={f"c{number}": ("read", {})})
                story.result(f"c{number}", LONG)
        for name in ("mask:1", "compact"):
            one, two = under(name, with_events, window=6_000), under(name, without, window=6_000)
            assert [s.request.total for s in one.sent] == [s.request.total for s in two.sent]
            assert one.meter.tally == replace(
                two.meter.tally, first_break=one.meter.tally.first_break
            )

    def test_without_turn_events_sealing_runs_at_each_first_step(self) -> None:
        story = Story()
        for number in (1, 2, 3):
            story.turn, story.step = number, 0
            story.human()
            story.reads("a.txt", LONG)
            story.says("read it")
            story.end()
        assert len(under("tape", story).entries) == 2

    def test_a_message_that_says_nothing_weighs_nothing(self) -> None:
        story = Story()
        story.start()
        story.add(UserMessage(data=Message("m", "user", (), Source("user")), surface_op="append"))
        story.says("hi")
        assert [sent.request.total for sent in under("transcript", story).sent] == [0]

    def test_a_failed_attempt_is_a_request_without_an_answer(self) -> None:
        story = Story()
        story.start()
        story.human("hello")
        failed = AttemptData(1, 1)
        story.add(AssistantAttempt(data=failed))
        story.says("hi", step=1)
        done = under("transcript", story)
        assert [sent.output for sent in done.sent] == [0, 2]
        assert done.sent[0].request.total == done.sent[1].request.total
        assert recorded(story).facts.steps == 1

    def test_pictures_weigh_a_constant_and_are_counted(self) -> None:
        plain, pictured = Story(), Story()
        for story, blocks in ((plain, ()), (pictured, (PICTURE,))):
            story.start()
            story.human("look", *blocks)
            story.says(calls={"c": ("shot", {})})
            story.result("c", "here", *blocks)
            story.says("seen")
        assert recorded(pictured).facts.images == 2
        one, two = under("transcript", plain).sent, under("transcript", pictured).sent
        assert [b.request.total - a.request.total for a, b in zip(one, two, strict=True)] == [
            IMAGE,
            2 * IMAGE,
        ]

    def test_a_renewed_prompt_breaks_the_prefix_of_every_arm(self) -> None:
        story = Story()
        story.start()
        prompt = story.system("the rules")
        story.human()
        story.says("one", step=1)
        story.system("newer rules", replaces=prompt)
        story.says("two", step=2)
        for name in ("transcript", "tape"):
            assert under(name, story).meter.tally.breaks_in_turn == 1


class TestOwnLogs:
    """A log that a policy has already worked on is replayed as if it had not."""

    def sealed(self) -> SealedStory:
        story = SealedStory()
        for number in range(3):
            result = story.reading_turn(f"{number}.txt", f"{number} {LONG}")
            if number == 1:
                story.view_of(result, "[folded]")
        story.start()
        story.human("and now?")
        story.says("done")
        story.aside("x/seal", {"left": [3], "why": "not shorter"})
        return story

    def test_transcript_shows_what_happened(self) -> None:
        ours, plain = self.sealed(), Story()
        for number in range(3):
            plain.reading_turn(f"{number}.txt", f"{number} {LONG}")
        plain.start()
        plain.human("and now?")
        plain.says("done")
        one, two = under("transcript", ours), under("transcript", plain)
        assert [e.data for e in one.session.log.events] != []
        assert [s.request.total for s in one.sent] == [s.request.total for s in two.sent]
        assert one.meter.tally == two.meter.tally

    def test_tape_seals_the_same_nodes_again(self) -> None:
        ours = self.sealed()
        done = under("tape", ours)
        assert len(done.entries) == len(ours.entries) == 3
        again = under("tape", done_story := Story(done.session.log))
        assert [text_of(e.data.content) for e in again.entries] == [
            text_of(e.data.content) for e in done.entries
        ]
        assert len(again.session.log.events) == len(done_story.events)

    def test_a_summary_of_another_host_is_left_out(self) -> None:
        story = Story()
        story.start()
        first = story.human("one")
        last = story.says("two")
        story.replaced(first, last, "a summary", source=Source(kind="plugin", plugin="compact"))
        story.says("three")
        recording = recorded(story)
        assert recording.facts.compacted
        assert len(under("transcript", story).session.view.surface) == 3
