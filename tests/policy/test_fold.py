"""What is folded, what stays, and what a fold leaves as it was."""

import itertools
import json
from dataclasses import replace

import msgspec
import pytest

from folded_story import DIGEST, FoldedStory, document, noisy_log, text_at
from slicetape.log.events import ToolResult
from slicetape.log.messages import Message, Source, Text, ToolResultBlock
from slicetape.log.payloads import ToolResultData
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import DigestSettings, FoldSettings, Settings
from story import PICTURE

SOURCE = "\n".join(f"def step_{at}(value):\n    return value + {at}" for at in range(300))


def started(**settings: object) -> FoldedStory:
    story = FoldedStory(**settings)  # type: ignore[arg-type]
    story.start()
    story.human("look into it")
    return story


def grep_output(files: int, matches: int, width: int = 20) -> str:
    return "\n".join(
        f"src/mod{file}/file{file}.ts:{line}: {'x' * width}"
        for file in range(files)
        for line in range(1, matches + 1)
    )


class TestWhatIsFolded:
    def test_case_172_a_large_document_is_a_view_in_the_next_request(self) -> None:
        story = started()
        text = document()
        result = story.uses("read", {"file_path": "docs/a.md"}, text)
        story.says("done")
        shown = story.shown(result)
        assert shown.startswith("[read docs/a.md · data · 400 lines, ")
        assert 'expand_result({"turn": 1, "step": 1, "call": 1})' in shown
        assert f'expand_result({{"seq": {result.seq}, "formatVersion": 3}})' in shown
        assert "…[+" in shown
        assert "row_0: value 0" in shown
        assert "some prose about row 201" not in shown
        (view,) = story.views
        assert (view.surface_op.start_seq, view.surface_op.end_seq) == (result.seq, result.seq)
        assert view.sources == (result.seq,)
        assert text_at(story.events[result.seq]) == text

    def test_case_173_the_expansion_of_a_view_is_shown_whole(self) -> None:
        story = started()
        text = document()
        story.uses("read", {"file_path": "a.md"}, text)
        answer = story.expands(turn=1, step=1)
        story.says("done")
        assert text in story.shown(answer)
        assert not story.is_folded(answer)

    def test_case_174_the_counts_say_what_was_saved(self) -> None:
        story = started()
        text = document()
        story.uses("read", {"file_path": "a.md"}, text)
        story.says("done")
        assert (story.stats.folded, story.stats.chars_before) == (1, len(text))
        assert story.stats.chars_after < 0.55 * story.stats.chars_before

    def test_case_175_a_request_only_ever_adds_to_the_one_before(self) -> None:
        story = started()
        sent = []
        for at in range(6):
            story.enter()
            sent.append(story.request())
            story.says(calls={f"c{at}": ("read", {"file_path": f"{at}.md"})}, enter=False)
            story.result(f"c{at}", document(name=f"n{at}"))
        assert all(b[: len(a)] == a for a, b in itertools.pairwise(sent))
        assert story.stats.folded == 5

    def test_case_180_by_default_a_document_is_folded_in_the_first_step(self) -> None:
        story = started()
        text = document(220)
        assert 6_000 < len(text) < 8_000
        large = story.uses("read", {"file_path": "a.md"}, text)
        small = story.uses("read", {"file_path": "b.md"}, document(100))
        story.says("done")
        assert story.is_folded(large)
        assert not story.is_folded(small)

    def test_case_178_a_search_with_very_many_matches_is_folded(self) -> None:
        story = started()
        result = story.uses("grep", {"pattern": "x"}, grep_output(5, 60, 40))
        story.says("done")
        shown = story.shown(result).split("\n")
        assert "[... and 55 more matches in src/mod0/file0.ts]" in shown
        assert f"src/mod0/file0.ts:1: {'x' * 40}" in shown
        assert f"src/mod0/file0.ts:60: {'x' * 40}" in shown
        assert f"src/mod0/file0.ts:30: {'x' * 40}" not in shown

    def test_case_186_blocks_of_one_event_are_folded_each_on_its_own(self) -> None:
        story = started()
        first, second = document(name="a"), noisy_log()
        calls = {
            "x": ("read", {"file_path": "x.md"}),
            "y": ("bash", {"command": "make"}),
            "z": ("read", {"file_path": "z.md"}),
        }
        story.says(calls=calls)
        answers = {"x": (first, PICTURE), "y": (second,), "z": (document(name="z"),)}
        result = story.results(answers, errors={"z"}, meta={"kept": 1})
        story.says("done")
        (view,) = story.views
        assert isinstance(result, ToolResult)
        assert "· data ·" in text_at(view, 1)
        assert "· log ·" in text_at(view, 2)
        x, y, z = view.data.message.content
        assert isinstance(x, ToolResultBlock)
        assert x.content[1] == PICTURE
        assert z == result.data.message.content[2]
        assert view.data.meta == result.data.meta
        assert view.data.message.id == result.data.message.id
        assert view.data.message.source == result.data.message.source
        assert [b.is_error for b in (x, y, z)] == [False, False, True]
        assert story.recalled("expand_result", turn=1, step=1, block=1)[0].endswith(first)
        assert story.recalled("expand_result", turn=1, step=1, block=2)[0].endswith(second)

    def test_an_ordinal_locator_is_exact_however_many_results_came_before(self) -> None:
        story = started()
        calls = {f"c{at}": ("read", {"file_path": f"{at}.md"}) for at in range(71)}
        story.says(calls=calls)
        results = [story.result(f"c{at}", document(name=f"n{at}")) for at in range(71)]
        story.says("done")
        assert '"call": 71' in story.shown(results[70])
        page, _ = story.recalled("expand_result", turn=1, step=1, call=71)
        assert page.endswith(document(name="n70"))
        page, _ = story.recalled("expand_result", turn=1, step=1, call=70)
        assert page.endswith(document(name="n69"))

    def test_what_stands_beside_the_blocks_stays(self) -> None:
        story = started()
        story.says(calls={"a": ("bash", {"command": "make"})})
        block = ToolResultBlock("a", False, (Text(noisy_log()),))
        message = Message("r", "user", (Text("aside"), block), Source(kind="tool", call_id="a"))
        data = ToolResultData(1, 1, message)
        story.add(ToolResult(data=data, surface_op="append"))
        story.says("done")
        (view,) = story.views
        assert view.data.message.content[0] == Text("aside")
        assert text_at(view).startswith("[bash · log · ")

    def test_the_settings_of_a_session_say_how_it_folds(self) -> None:
        settings = Settings(fold=FoldSettings(pin_steps=3), digest=DigestSettings(min_chars=9))
        folding = Folding.of(settings)
        assert (folding.fold.pin_steps, folding.digest.min_chars) == (3, 9)

    def test_folding_twice_changes_nothing(self) -> None:
        story = started()
        story.uses("read", {"file_path": "a.md"}, document())
        assert len(story.enter().views) == 1
        counts, events = story.stats, story.events
        assert story.enter().views == ()
        assert (story.stats, story.events) == (counts, events)


class TestWhatStays:
    @pytest.mark.parametrize("path", ["a.py", "src/A.TS", "x/y.rs"])
    def test_case_176_source_code_by_path(self, path: str) -> None:
        story = started()
        result = story.uses("read", {"file_path": path}, document())
        story.says("done")
        assert not story.is_folded(result)

    @pytest.mark.parametrize(
        "command",
        ["cat a.py", "cd src && cat -n a.py", "sed -n '1,400p' src/a.py", "head -400 a.py"],
    )
    def test_source_code_that_a_command_prints(self, command: str) -> None:
        story = started()
        result = story.uses("bash", {"command": command}, document())
        story.says("done")
        assert not story.is_folded(result)

    @pytest.mark.parametrize(
        "command",
        [
            *(
                "python a.py",
                "cat a.py | wc",
                "cat a.py b.txt",
                "cat log.txt",
                "cat 'a.py",
                "",
                "x" * 3_000,
            ),
            *(
                ["cat", "a.py"],
                None,
                "&& cat",
                "cat log.txt && python a.py",
                "cat b.txt; make a.py",
            ),
        ],
    )
    def test_what_another_command_prints_is_folded(self, command: object) -> None:
        story = started()
        result = story.uses("bash", {"command": command}, document())
        story.says("done")
        assert story.is_folded(result)

    def test_source_code_by_its_shape(self) -> None:
        story = started()
        result = story.uses("bash", {"command": "show"}, SOURCE)
        story.says("done")
        assert not story.is_folded(result)

    def test_case_177_an_error(self) -> None:
        story = started()
        result = story.uses("bash", {"command": "make"}, noisy_log(), error=True)
        story.says("done")
        assert not story.is_folded(result)

    def test_case_179_a_search_with_few_matches(self) -> None:
        story = started()
        text = grep_output(3, 10)
        result = story.uses("grep", {"pattern": "x"}, text)
        story.says("done")
        assert story.shown(result) == text

    @pytest.mark.parametrize(
        "tool", ["expand_result", "recall_turn", "recall_step", "recall_search"]
    )
    def test_what_a_recall_tool_returned(self, tool: str) -> None:
        story = started()
        result = story.uses(tool, {"turn": "1"}, noisy_log())
        story.says("done")
        assert not story.is_folded(result)

    def test_a_result_before_a_request_without_recall_tools_for_good(self) -> None:
        story = started()
        story.recalls = False
        result = story.uses("bash", {"command": "make"}, noisy_log())
        story.says("done")
        story.recalls = True
        later = story.uses("bash", {"command": "make"}, noisy_log())
        story.says("done")
        assert not story.is_folded(result)
        assert story.is_folded(later)

    def test_a_result_that_was_sent_without_asking_the_policy(self) -> None:
        story = started()
        story.says(calls={"a": ("bash", {"command": "make"})}, enter=False)
        result = story.result("a", noisy_log())
        story.says("seen", enter=False)
        story.says("done")
        assert not story.is_folded(result)

    def test_case_187_what_another_plugin_replaced(self) -> None:
        story = started()
        result = story.uses("bash", {"command": "make"}, noisy_log())
        story.view_of(result, "cut by a plugin")
        story.expands(turn=1, step=1)
        story.says("done")
        assert story.shown(result) == "cut by a plugin"
        assert (story.stats.folded, story.stats.expanded) == (0, 0)

    def test_case_188_everything_when_folding_is_off(self) -> None:
        story = started(enabled=False)
        result = story.uses("bash", {"command": "make"}, noisy_log())
        story.says("done")
        assert not story.is_folded(result)

    def test_everything_when_digests_are_off(self) -> None:
        story = started(digest=DigestSettings(enabled=False))
        result = story.uses("bash", {"command": "make"}, noisy_log())
        story.says("done")
        assert not story.is_folded(result)

    def test_a_result_without_a_call_is_folded_as_a_tools(self) -> None:
        story = started()
        story.says()
        result = story.result("nobody", document())
        story.says("done")
        assert story.shown(result).startswith("[tool · data · ")

    def test_a_text_that_imitates_a_spill_head_is_ordinary_text(self) -> None:
        story = started()
        head = (
            "[bash · log · 9 lines, 9 kept · full text (99 bytes) stored at /etc/passwd — read it]"
        )
        small = story.uses("bash", {"command": "a"}, f"{head}\nroot")
        large = story.uses("bash", {"command": "b"}, f"{head}\n{noisy_log()}")
        story.says("done")
        assert story.shown(small) == f"{head}\nroot"
        assert story.shown(large).startswith("[bash · log · 1201 lines, ")
        assert story.stats.spilled == 0
        assert story.recalled("expand_result", turn=1, step=1)[0].endswith(f"{head}\nroot")


class TestPins:
    def test_case_181_results_of_the_first_steps_stay(self) -> None:
        story = started(pin_steps=2, pin_max_chars=100_000)
        results = [story.uses("read", {"file_path": f"{at}.md"}, document()) for at in range(3)]
        story.says("done")
        assert [story.is_folded(result) for result in results] == [False, False, True]

    def test_case_182_unless_they_are_large(self) -> None:
        story = started(pin_steps=2)
        result = story.uses("read", {"file_path": "a.md"}, document())
        story.says("done")
        assert story.is_folded(result)

    def test_case_183_rules_stay_and_a_page_does_not(self) -> None:
        story = started(pin_steps=2, digest=replace(DIGEST, min_chars=1_000))
        rules = story.uses("read", {"file_path": "rules.md"}, document(90))
        page = story.uses("fetch_page", {"url": "https://host/x"}, document(400))
        story.says("done")
        assert not story.is_folded(rules)
        assert story.is_folded(page)


class TestSteps:
    def test_case_184_a_step_that_is_not_entered_folds_nothing(self) -> None:
        story = started()
        result = story.uses("bash", {"command": "make"}, noisy_log())
        story.end("blocked")
        assert not story.is_folded(result)

    def test_case_185_every_step_that_is_entered_folds_what_came_before(self) -> None:
        story = started()
        results = [story.uses("bash", {"command": str(at)}, noisy_log()) for at in range(4)]
        assert [story.is_folded(result) for result in results] == [True, True, True, False]


class TestFaithfulness:
    def test_fields_that_slicetape_does_not_read_stay_in_the_line(self) -> None:
        story = started()
        story.says(calls={"a": ("bash", {"command": "make"})})
        seq = len(story.events)
        line = {
            "type": "tool/result",
            "seq": seq,
            "time": 5,
            "data": {
                "turn": 1,
                "step": 1,
                "message": {
                    "id": "r",
                    "role": "user",
                    "extra": [1.50, {"deep": None}],
                    "source": {"kind": "tool", "callId": "a", "fork": {"of": 12}},
                    "content": [
                        {
                            "type": "tool-result",
                            "toolCallId": "a",
                            "isError": False,
                            "note": "n",
                            "content": [{"type": "text", "text": noisy_log(), "cache": True}],
                        }
                    ],
                },
                "meta": {"exit": 0},
                "elapsed": 12,
            },
            "surfaceOp": "append",
        }
        original = story.session.append(
            msgspec.json.decode(json.dumps(line), type=ToolResult),
            line=json.dumps(line).encode(),
        )
        story.says("done")
        (view,) = story.views
        said = json.loads(story.session.log.raw(view.seq))
        text = text_at(view)
        assert text != text_at(original)
        expected = json.loads(json.dumps(line))
        expected["data"]["message"]["content"][0]["content"][0]["text"] = text
        expected |= {
            "seq": view.seq,
            "time": 0,
            "surfaceOp": {"op": "replace", "startSeq": seq, "endSeq": seq},
            "sourceEventSeqs": [seq],
        }
        assert said == expected

    def test_a_view_of_halves_of_characters_is_written_and_read_back(self) -> None:
        story = started()
        text = noisy_log() + "\n\ud83d broken"
        result = story.uses("bash", {"command": "make"}, text)
        story.says("done")
        assert story.shown(result).endswith("\ud83d broken")
        assert story.recalled("expand_result", turn=1, step=1)[0].endswith(text)
