"""Large outputs leave the log: what is logged, what is shown, and what must never leave."""

import json
from pathlib import Path

import pytest

from folded_story import FoldedStory, document, noisy_log, text_at
from slicetape.log.log import SessionLog
from slicetape.log.messages import Text
from slicetape.log.spill import Blobs, spill_rows, stored_head
from slicetape.policy.settings import DigestSettings
from story import PICTURE, header

BIG = noisy_log(1_400)
assert len(BIG) > 50_000


def started(log: SessionLog | None = None, **settings: object) -> FoldedStory:
    story = FoldedStory(log, **settings)  # type: ignore[arg-type]
    story.start()
    story.human("look into it")
    return story


class TestWhatIsSpilled:
    def test_case_207_a_large_output_is_logged_as_a_view_of_its_blob(self, tmp_path: Path) -> None:
        with SessionLog.create(tmp_path / "log.jsonl", header()) as log:
            story = started(log)
            result = story.runs("bash", {"command": "make"}, PICTURE, BIG, meta=None)
            logged = text_at(result)
            head = stored_head(logged)
            assert head is not None
            assert head.where.startswith(str(tmp_path / "blobs"))
            assert Path(head.where).read_text() == BIG
            assert "ERROR worker 7 failed: boom" in logged
            assert "INFO step 300 " not in logged
            assert len(logged) < 3_000
            (row,) = spill_rows(result.data.meta)
            assert (row.block, row.part, row.bytes, row.lines) == (1, 1, len(BIG), 1_400)
            (block,) = result.data.message.content
            assert [type(part) for part in block.content] == [type(PICTURE), Text]
            story.says("done")
            assert story.stats.spilled == 1

    def test_case_208_the_first_request_has_both_locators(self) -> None:
        story = started()
        result = story.runs("bash", {"command": "make"}, BIG)
        first = text_at(result).split("\n")[0]
        assert first.endswith(
            ' · expand_result({"turn": 1, "step": 1, "call": 1}) returns the full text]'
        )
        story.says("done")
        shown = story.shown(result)
        assert shown.split("\n")[0].endswith(
            ' · expand_result({"turn": 1, "step": 1, "call": 1}) or '
            f'expand_result({{"seq": {result.seq}, "formatVersion": 3}}) returns the full text]'
        )
        assert shown.split("\n")[1:] == text_at(result).split("\n")[1:]
        assert stored_head(shown) == stored_head(text_at(result))
        assert (story.stats.folded, story.stats.spilled) == (0, 1)

    def test_case_209_expansions_of_it_bring_back_the_original(self) -> None:
        story = started()
        result = story.runs("bash", {"command": "make"}, BIG)
        whole = story.expands(turn=1, step=1)
        part = story.expands(seq=result.seq, formatVersion=3, grep="worker 7")
        story.says("done")
        assert text_at(whole).endswith(BIG)
        assert "1 of 1400 lines match" in text_at(part)
        stats = story.stats
        assert (stats.spilled, stats.folded, stats.expanded, stats.backed_off) == (1, 0, 2, ())

    def test_parts_are_kept_as_recall_joins_them(self) -> None:
        story = started()
        story.runs("bash", {"command": "make"}, BIG, "and more", "\ud800 half")
        assert story.recalled("expand_result", turn=1, step=1)[0].endswith(
            f"{BIG}\nand more\n\ud800 half"
        )

    def test_what_the_tool_said_of_its_result_stays_beside_the_row(self) -> None:
        story = started()
        story.says(calls={"a": ("bash", {"command": "make"})})
        logged = story.spilled("bash", {"command": "make"}, BIG, id="a", meta=None)
        assert logged.meta is not None
        assert set(json.loads(bytes(logged.meta))) == {"spill"}

    def test_a_view_says_without_the_ordinal_when_calls_are_logged_as_they_end(self) -> None:
        story = started()
        result = story.runs("bash", {"command": "make"}, BIG, call=None)
        assert text_at(result).split("\n")[0].endswith(" — read or grep it there]")
        story.says("done")
        assert '"call": 1}) or expand_result' in story.shown(result)


class TestWhatStaysInTheLog:
    def plain(
        self, story: FoldedStory, tool: str = "bash", text: str = BIG, **more: object
    ) -> bool:
        result = story.runs(tool, {"command": "make"}, text, **more)
        return text_at(result) == text and not result.data.meta

    def test_case_210_a_pinned_result(self) -> None:
        story = started(pin_steps=1, pin_max_chars=1_000_000)
        assert self.plain(story)
        assert not self.plain(story)

    @pytest.mark.parametrize("tool", ["read", "read_file"])
    def test_a_file_that_was_read(self, tool: str) -> None:
        assert self.plain(started(), tool)

    @pytest.mark.parametrize(
        "more", [{"is_error": True}, {"nested": True}, {"settled": True}], ids=str
    )
    def test_an_error_a_nested_call_and_what_another_stage_settled(
        self, more: dict[str, object]
    ) -> None:
        assert self.plain(started(), **more)

    def test_a_smaller_output(self) -> None:
        assert self.plain(started(), text=noisy_log(600))
        assert self.plain(started(), text="é" * 24_999)
        assert not self.plain(started(), text="\n".join("é" * 99 for _ in range(300)))

    def test_everything_when_it_is_switched_off(self) -> None:
        assert self.plain(started(spill_preview_min_bytes=0))
        assert self.plain(started(enabled=False))
        assert self.plain(started(digest=DigestSettings(enabled=False)))

    def test_everything_when_nothing_is_folded_or_recall_is_not_offered(self) -> None:
        story = started()
        story.prestep.folding = None
        assert self.plain(story)
        story = started()
        story.recalls = False
        assert self.plain(story)

    def test_case_206_a_resource_that_is_backed_off(self) -> None:
        story = started(backoff_after_expansions=1)
        story.runs("bash", {"command": "make"}, BIG)
        story.expands(turn=1, step=1)
        story.enter()
        assert story.stats.backed_off == ('["bash","arguments",{"command":"make"}]',)
        again = story.runs("bash", {"command": "make"}, BIG)
        story.says("done")
        assert text_at(again) == story.shown(again) == BIG

    def test_case_211_what_the_store_refuses(self, tmp_path: Path) -> None:
        (tmp_path / "blobs").write_text("in the way")
        with SessionLog.create(tmp_path / "log.jsonl", header()) as log:
            story = started(log)
            result = story.runs("bash", {"command": "make"}, BIG)
            assert text_at(result) == BIG
            story.says("done")
            assert story.is_folded(result)
            assert (story.stats.folded, story.stats.spilled) == (1, 0)

    def test_a_head_that_could_not_be_read_back(self, tmp_path: Path) -> None:
        folder = tmp_path / "a — b"
        folder.mkdir()
        with SessionLog.create(folder / "log.jsonl", header()) as log:
            assert self.plain(started(log))

    @pytest.mark.parametrize("meta", ['{"spill":[]}', "[1]", '"text"'])
    def test_a_result_whose_metadata_has_no_room_for_the_row(self, meta: str) -> None:
        import msgspec

        story = started()
        story.says(calls={"a": ("bash", {})})
        logged = story.spilled("bash", {}, BIG, id="a", meta=msgspec.Raw(meta.encode()))
        assert logged.content == (Text(BIG),)
        assert logged.meta is not None
        assert bytes(logged.meta) == meta.encode()
        assert not logged.keep


class TestWhatNoStageMayShorten:
    @pytest.mark.parametrize("tool", ["expand_result", "recall_turn", "recall_step"])
    def test_recalled_text(self, tool: str) -> None:
        story = started()
        story.says(calls={"a": (tool, {})})
        logged = story.spilled(tool, {}, BIG, id="a")
        assert (logged.content, logged.keep) == ((Text(BIG),), True)

    def test_case_203_what_hands_recalled_text_on(self) -> None:
        story = started()
        story.runs("bash", {"command": "make"}, BIG)
        story.says(calls={"r": ("run_code", {})})
        page, _ = story.recalled("expand_result", turn=1, step=1)
        story.nested("r", "s", "expand_result", {"turn": 1, "step": 1}, page)
        logged = story.spilled("run_code", {}, json.dumps({"found": page}), id="r")
        assert logged.keep
        other = story.spilled("run_code", {}, BIG, id="r")
        assert not other.keep


class TestSpillsOfThePast:
    def test_a_spilled_view_that_was_sent_without_locators_counts_expansions_after_a_resume(
        self, tmp_path: Path
    ) -> None:
        story = started()
        result = story.runs("bash", {"command": "make"}, BIG)
        story.end("aborted")
        again = story.reopened(tmp_path)
        again.start()
        again.human("go on")
        again.expands(turn=1, step=1)
        again.says("done")
        assert again.shown(result) == text_at(result)
        assert (again.stats.spilled, again.stats.expanded) == (1, 1)

    def test_an_importer_names_the_spills_of_another_host(self) -> None:
        head = (
            "[bash · log · 9 lines, 9 kept · full text (99 bytes) stored at /srv/x.txt — read it]"
        )
        story = started(known={"/srv/x.txt": None})
        result = story.uses("bash", {"command": "make"}, f"{head}\nview")
        story.says("done")
        assert story.shown(result).startswith(head[:-1] + ' · expand_result({"turn": 1, ')
        assert story.stats.spilled == 1

    def test_a_nested_copy_that_was_spilled_natively_protects_what_it_stands_for(self) -> None:
        blobs = Blobs(None)
        sha256 = blobs.put("[full result of bash]\n" + document(), block=1, part=1).sha256
        story = started(known={"/srv/copy.txt": sha256})
        story.session.log.blobs._held.update(blobs._held)
        notice = (
            "start of it\n\n(Omitted 9000 bytes. Full formatted result stored at: /srv/copy.txt."
            " Use read with offset/limit, or grep this path to search within it.)"
        )
        story.says(calls={"r": ("run_code", {}), "q": ("run_code", {})})
        story.nested("r", "s", "expand_result", {"turn": 1, "step": 1}, notice)
        forwarded = story.result("r", "[full result of bash]\n" + document())
        other = story.result("q", "[full result of bash]\n" + document())
        story.says("done")
        assert not story.is_folded(forwarded)
        assert story.is_folded(other)
