"""Recoverable is 1 when the printed calls bring everything back, and less when anything is lost."""

from collections.abc import Callable, Mapping

import msgspec
import pytest

from sealed_story import SealedStory
from slicetape.errors import RecallError
from slicetape.log.events import UserMessage
from slicetape.log.messages import Text, text_of
from slicetape.recall.tools import Recall, dispatch
from slicetape.replay.recoverable import Recovery, recover
from story import PICTURE, Story

Change = Callable[[str], str]


def telling(story: Story) -> None:
    """A turn of everything that an entry can hide, and the start of the turn that seals it."""
    story.start()
    story.human("do it")
    story.snapshot("state one")
    for number in range(8):
        story.reads(f"{number}.txt", f"text {number}\nof a file", id=f"c{number}")
    story.says("thought about it", thinks="secret thoughts")
    story.says("and said it twice\n\n")
    story.says("")
    story.snapshot("state two")
    story.end()
    story.start()


@pytest.fixture
def story() -> SealedStory:
    told = SealedStory()
    telling(told)
    return told


def asked(
    story: SealedStory, *, entry: Change = str, turn: Change = str, result: Change = str
) -> Recovery:
    """What comes back when entries or pages are changed on their way to the model."""
    recall = Recall.of(story.view)

    def ask(name: str, arguments: Mapping[str, object]) -> str:
        page = dispatch(name, arguments, recall)
        return (turn if name == "recall_turn" else result)(page)

    return recover(recall, [changed(made, entry) for made in story.entries], ask=ask)


def changed(entry: UserMessage, change: Change) -> UserMessage:
    content = (Text(change(text_of(entry.data.content))),)
    return msgspec.structs.replace(entry, data=msgspec.structs.replace(entry.data, content=content))


def without(*parts: str) -> Change:
    """Lines with any of these parts are gone."""
    return lambda text: "\n".join(
        line for line in text.split("\n") if not any(part in line for part in parts)
    )


class TestWhole:
    def test_everything_comes_back(self, story: SealedStory) -> None:
        found = recover(Recall.of(story.view), story.entries)
        assert found.missing == ()
        assert found.hidden == found.recovered == len(story.cited)
        assert found.share == 1

    def test_no_entries_hide_nothing(self) -> None:
        assert recover(Recall.of(Story().view), []).share == 1

    @pytest.mark.parametrize("cap", [256, 300, 600, 2_000])
    def test_entries_that_gave_up_their_lines_still_say_how(self, cap: int) -> None:
        story = SealedStory(entry_max_chars=cap)
        telling(story)
        assert recover(Recall.of(story.view), story.entries).share == 1

    @pytest.mark.parametrize(
        "text",
        [
            "[turn 99]",
            '[tool turn 1 step 1 seq 0 · x · 1 chars · expand_result({"seq":0,"formatVersion":3})]',
            "[end reply @sha256:000000000000]",
            "lone \ud800 half",
            "two\r\nlines\u2028and \0 more",
            "[+3 more tool results · seqs 1, 2, 3]",
        ],
    )
    def test_texts_that_look_like_our_own_come_back(self, text: str) -> None:
        story = SealedStory()
        story.start()
        story.human(text)
        story.reads("a.txt", text)
        story.says(text)
        story.end()
        story.start()
        assert recover(Recall.of(story.view), story.entries).share == 1

    def test_several_results_of_one_event_and_pictures_come_back(self) -> None:
        story = SealedStory()
        story.start()
        story.human("look")
        story.says(calls={"a": ("read", {}), "b": ("read", {})})
        story.results({"a": ("one", PICTURE, "two"), "b": ("three", "")})
        story.says("seen", PICTURE)
        story.end()
        story.start()
        assert recover(Recall.of(story.view), story.entries).share == 1

    def test_a_folded_result_is_followed_to_its_original(self) -> None:
        story = SealedStory()
        story.start()
        story.human()
        result = story.reads("a.txt", "long text " * 50)
        story.view_of(result, "[short]")
        story.says("ok")
        story.end()
        story.start()
        assert recover(Recall.of(story.view), story.entries).share == 1


class TestLost:
    def test_a_page_with_one_letter_less_is_a_loss(self, story: SealedStory) -> None:
        found = asked(story, result=lambda page: page.replace("text 3", "text"))
        assert len(found.missing) == 1
        assert found.share < 1

    def test_a_page_with_one_letter_more_is_a_loss(self, story: SealedStory) -> None:
        assert asked(story, result=lambda page: page + " ").share < 1

    def test_a_failed_call_is_a_loss_not_a_crash(self, story: SealedStory) -> None:
        def fail(_: str) -> str:
            raise RecallError("the record is gone")

        found = asked(story, turn=fail, result=fail)
        assert found.recovered == 1  # a message that says nothing hides nothing

    def test_a_broken_locator_is_a_loss_unless_a_page_names_the_result(
        self, story: SealedStory
    ) -> None:
        def broken(text: str) -> str:
            return text.replace('"formatVersion":3', '"formatVersion":2')

        assert asked(story, entry=broken).share == 1
        assert asked(story, entry=broken, turn=without("[tool step")).share < 1
        assert asked(story, entry=broken, turn=broken).share < 1

    def test_a_seq_missing_in_the_more_line_is_a_loss_unless_a_page_names_it(
        self, story: SealedStory
    ) -> None:
        more = next(line for line in story.tape[0].split("\n") if "more tool results" in line)
        last = int(more.removesuffix("]").rpartition(" ")[2])

        def dropped(text: str) -> str:
            return text.replace(f", {last}]", "]")

        assert asked(story, entry=dropped).share == 1
        found = asked(story, entry=dropped, turn=without("[tool step"))
        assert found.missing == (last,)
        assert asked(story, turn=without("[tool step")).share == 1

    def test_an_entry_that_names_no_turn_loses_what_was_said(self, story: SealedStory) -> None:
        found = asked(story, entry=without("[turn "))
        assert 0 < found.share < 1

    def test_an_entry_without_recipes_names_its_first_results_only(
        self, story: SealedStory
    ) -> None:
        def bare(text: str) -> str:
            head, _, rest = text.partition("\n")
            return f"{head.partition(' · recall_turn')[0]}]\n{rest}"

        found = asked(story, entry=bare)
        assert found.recovered == 6 + 1

    def test_what_a_reply_says_is_not_followed(self) -> None:
        story = SealedStory()
        story.start()
        story.human()
        result = story.reads("a.txt", "text of a")
        story.says(f'expand_result({{"seq":{result.seq},"formatVersion":3}})')
        story.end()
        story.start()
        found = asked(story, entry=without("[turn ", "[tool turn"), turn=without("[tool step"))
        assert result.seq in found.missing

    @pytest.mark.parametrize(
        "page", ["", "[]", "x\n[1]", 'x\n[{"type":"assistant/message"}]', "x\n[{"]
    )
    def test_a_damaged_full_page_is_a_loss(self, story: SealedStory, page: str) -> None:
        found = asked(story, turn=lambda whole: page if "· view full" in whole else whole)
        assert found.share < 1

    def test_reasoning_and_arguments_count_as_text(self, story: SealedStory) -> None:
        for text in ("secret thoughts", "3.txt"):
            found = asked(story, turn=lambda page, text=text: page.replace(text, "…"))
            assert len(found.missing) == 1

    def test_a_lost_snapshot_is_a_loss(self, story: SealedStory) -> None:
        found = asked(story, turn=lambda page: page.replace("state one", "state"))
        assert len(found.missing) == 1
