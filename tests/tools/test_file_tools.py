"""read, write and edit: what they say, what they keep, and what they refuse."""

import asyncio
import os
import resource
import stat
import threading
import tracemalloc
from pathlib import Path
from typing import ClassVar

import pytest

from slicetape.log.events import Foreign
from slicetape.tools.edit import EditTool
from slicetape.tools.guard import Guard
from slicetape.tools.mutate import publish
from slicetape.tools.workspace import Refused
from slicetape.tools.write import WriteTool
from tool_calls import CALL, Folder


def envelope(path: Path, body: str) -> str:
    return f"<path>{path}</path>\n<type>file</type>\n<content>\n{body}\n</content>"


class TestPaths:
    OUTSIDE = ("/etc/passwd", "../x", "a/../../x", "~/x", "link/x", "/")

    @pytest.mark.parametrize("path", OUTSIDE)
    def test_nothing_outside_the_workspace_is_used(self, path: str, tmp_path: Path) -> None:
        inside = tmp_path / "work"
        inside.mkdir()
        (inside / "link").symlink_to(tmp_path)
        folder = Folder(inside)
        for text in (folder.read(path), folder.write(path, "x"), folder.edit(path, "a", "b")):
            assert "outside the workspace" in text
            assert folder.code == "FS_SANDBOX_DENIED"
        assert not (tmp_path / "x").exists()

    def test_an_allowed_path_and_everywhere_lift_the_limit(self, tmp_path: Path) -> None:
        inside, beside = tmp_path / "work", tmp_path / "beside"
        inside.mkdir()
        beside.mkdir()
        assert "Created" in Folder(inside, allowed=[beside]).write(str(beside / "a"), "x")
        assert "Created" in Folder(inside, everywhere=True).write(str(tmp_path / "b"), "x")

    def test_a_link_within_the_workspace_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "real.txt").write_text("hello\n")
        (tmp_path / "link.txt").symlink_to("real.txt")
        assert "1: hello" in Folder(tmp_path).read("link.txt")

    def test_links_in_a_circle_are_told(self, tmp_path: Path) -> None:
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        assert Folder(tmp_path).read("a").startswith("Error: cannot read")

    def test_a_pipe_is_no_file_and_does_not_hang(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        folder = Folder(tmp_path)
        assert "not a regular file" in folder.read("pipe")
        assert folder.code == "FS_NOT_REGULAR_FILE"

    @pytest.mark.parametrize("path", ["", "a\0b"])
    def test_no_path_is_told(self, path: str, tmp_path: Path) -> None:
        assert "no such path" in Folder(tmp_path).read(path)


class TestRead:
    TEXTS: ClassVar = {
        "lines": (b"one\ntwo\n", "1: one\n2: two\n\n(End of file - total 2 lines)"),
        "no last line end": (b"one\ntwo", "1: one\n2: two\n\n(End of file - total 2 lines)"),
        "windows line ends": (b"one\r\ntwo\r\n", "1: one\n2: two\n\n(End of file - total 2 lines)"),
        "a byte order mark": (b"\xef\xbb\xbfone\n", "1: one\n\n(End of file - total 1 lines)"),
        "one byte": (b"x", "1: x\n\n(End of file - total 1 lines)"),
        "nothing": (b"", "\n\n(End of file - total 0 lines)"),
        "letters": (
            "größe 折叠 😀\n".encode(),
            "1: größe 折叠 😀\n\n(End of file - total 1 lines)",
        ),
    }

    @pytest.mark.parametrize("case", TEXTS)
    def test_a_file_is_shown_with_its_line_numbers(self, case: str, tmp_path: Path) -> None:
        data, body = self.TEXTS[case]
        path = tmp_path / "a.txt"
        path.write_bytes(data)
        assert Folder(tmp_path).read("a.txt") == envelope(path, body)

    def test_a_window_says_where_to_go_on(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("".join(f"{n}\n" for n in range(1, 11)))
        folder = Folder(tmp_path)
        assert "4: 4\n5: 5\n\n(Showing lines 4-5 of 10. Use offset=6" in folder.read(
            "a", offset=4, limit=2
        )
        assert folder.meta["complete"] is False
        assert "past the end (10 lines)" in folder.read("a", offset=11)
        assert folder.code == "FS_NOT_FOUND"

    def test_no_more_than_2000_lines_and_50_kilobytes_are_shown(self, tmp_path: Path) -> None:
        (tmp_path / "many").write_text("x\n" * 3_000)
        (tmp_path / "wide").write_text("y" * 1_000 + "\n" + ("y" * 1_000 + "\n") * 99)
        folder = Folder(tmp_path)
        assert "Showing lines 1-2000 of 3000. Use offset=2001" in folder.read("many")
        assert len(folder.read("wide").encode()) < 53_000
        assert "(Output capped. Showing lines 1-51. Use offset=52 to continue.)" in folder.read(
            "wide"
        )

    def test_a_long_line_is_cut_and_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "long").write_text("z" * 5_000 + "\nshort\n")
        folder = Folder(tmp_path)
        text = folder.read("long")
        assert f"1: {'z' * 2_000}... (line truncated to 2000 chars)\n2: short" in text
        assert folder.meta["complete"] is False

    def test_a_line_is_measured_as_the_host_does(self, tmp_path: Path) -> None:
        (tmp_path / "fits").write_text("😀" * 1_000)
        (tmp_path / "long").write_text("x" + "😀" * 1_000)
        folder = Folder(tmp_path)
        assert f"1: {'😀' * 1_000}\n\n(" in folder.read("fits")
        assert f"1: x{'😀' * 999}... (line truncated to 2000 chars)\n" in folder.read("long")

    def test_one_endless_line_costs_no_more_memory_than_a_window(self, tmp_path: Path) -> None:
        with (tmp_path / "line").open("wb") as file:
            for _ in range(40):
                file.write(b"z" * 1_000_000)
        folder = Folder(tmp_path)
        tracemalloc.start()
        try:
            text = folder.read("line")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert text.endswith(
            "(line truncated to 2000 chars)\n\n(End of file - total 1 lines)\n</content>"
        )
        assert peak < 12_000_000

    @pytest.mark.parametrize(
        "path", ["\ud800", "~nobody-of-that-name/x", "n" * 5_000, "d/" * 3_000]
    )
    def test_a_path_that_no_file_can_have_is_told(self, path: str, tmp_path: Path) -> None:
        folder = Folder(tmp_path)
        assert folder.read(path).startswith("Error: cannot read")
        assert folder.write(path, "x").startswith("Error: cannot write")

    @pytest.mark.parametrize("offset", [float("inf"), 1.5, 0])
    def test_an_offset_that_is_no_line_is_told(self, offset: float, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("x\n")
        folder = Folder(tmp_path)
        folder.read("a", offset=offset)
        assert folder.code == "INVALID_ARGS"

    @pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe\xfa", b"ok\n\x80\n"])
    def test_what_is_no_text_is_refused(self, data: bytes, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(data)
        folder = Folder(tmp_path)
        assert folder.read("a").startswith("Error: cannot read")
        assert folder.code == "FS_NOT_TEXT"

    def test_the_meta_names_the_file_and_holds_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("x = 1\n")
        folder = Folder(tmp_path)
        folder.read("a.py")
        meta = folder.meta
        assert (meta["count"], meta["totalLines"], meta["lang"]) == (1, 1, "py")
        assert (meta["bytes"], meta["complete"], len(meta["sha256"])) == (6, True, 64)

    def test_a_large_file_costs_no_more_memory_than_a_window(self, tmp_path: Path) -> None:
        path = tmp_path / "large"
        path.write_bytes(b"a line of fifty bytes, to be read and let go again\n" * 1_000_000)
        folder = Folder(tmp_path)
        tracemalloc.start()
        text = folder.read("large", offset=900_001, limit=3)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "900001: a line" in text
        assert peak < 25_000_000

    def test_bad_windows_are_told(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("x\n")
        folder = Folder(tmp_path)
        for more in ({"offset": 0}, {"limit": -1}, {"offset": 1.5}):
            folder.read("a", **more)
            assert folder.code == "INVALID_ARGS"


class TestGuard:
    def test_an_existing_file_must_be_read_before_it_is_written(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("old\n")
        folder = Folder(tmp_path)
        assert "read the file, then retry" in folder.write("a", "new\n")
        assert folder.code == "FS_NOT_OBSERVED"
        folder.read("a")
        assert "Updated file" in folder.write("a", "new\n")
        assert "Updated file" in folder.write("a", "newer\n"), "its own writes count as seen"

    def test_a_file_that_changed_since_must_be_read_again(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_text("old\n")
        folder = Folder(tmp_path)
        folder.read("a")
        path.write_text("changed by others\n")
        assert "read it again" in folder.edit("a", "changed", "x")
        assert folder.code == "FS_STALE_VERSION"
        assert path.read_text() == "changed by others\n"

    def test_a_touched_file_with_the_same_bytes_is_still_the_same(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_text("old\n")
        folder = Folder(tmp_path)
        folder.read("a")
        os.utime(path, ns=(1, 1))
        assert "updated" in folder.edit("a", "old", "new")

    def test_what_was_seen_survives_a_restart(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("old\n")
        folder = Folder(tmp_path)
        folder.read("a")
        notes: list[Foreign] = list(folder.last.notes)
        again = Folder(tmp_path)
        again.guard = Guard.of(notes)
        assert "updated" in again.edit("a", "old", "new")

    def test_a_missing_file_is_noted_and_may_be_created(self, tmp_path: Path) -> None:
        folder = Folder(tmp_path)
        folder.read("a")
        assert folder.code == "FS_NOT_FOUND"
        assert len(folder.last.notes) == 1
        assert "Created file" in folder.write("a", "x")

    def test_editing_a_missing_file_says_so(self, tmp_path: Path) -> None:
        folder = Folder(tmp_path)
        folder.edit("a", "x", "y")
        assert folder.code == "FS_NOT_FOUND"


class TestChanges:
    def seen(self, tmp_path: Path, data: bytes) -> Folder:
        (tmp_path / "a").write_bytes(data)
        folder = Folder(tmp_path)
        folder.read("a")
        return folder

    REFUSED: ClassVar = {
        "not there": ("x", "y", "FS_EDIT_NOT_FOUND"),
        "empty": ("", "y", "FS_EDIT_NOT_FOUND"),
        "equal": ("two", "two", "FS_EDIT_NOT_FOUND"),
        "twice": ("one", "y", "FS_AMBIGUOUS_EDIT"),
    }

    @pytest.mark.parametrize("case", REFUSED)
    def test_an_edit_that_means_nothing_changes_nothing(self, case: str, tmp_path: Path) -> None:
        old, new, code = self.REFUSED[case]
        folder = self.seen(tmp_path, b"one\ntwo\none\n")
        folder.edit("a", old, new)
        assert folder.code == code
        assert (tmp_path / "a").read_bytes() == b"one\ntwo\none\n"

    def test_all_places_are_replaced_when_asked_for(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"one\ntwo\none\n")
        folder.edit("a", "one", "1", replace_all=True)
        assert (tmp_path / "a").read_bytes() == b"1\ntwo\n1\n"

    def test_the_line_ending_that_a_file_mostly_has_is_kept(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"one\r\ntwo\r\nthree\n")
        folder.edit("a", "one\ntwo", "1\n2")
        assert (tmp_path / "a").read_bytes() == b"1\r\n2\r\nthree\r\n"

    def test_the_mode_is_kept(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"#!/bin/sh\n")
        (tmp_path / "a").chmod(0o750)
        folder.read("a")
        folder.edit("a", "/bin/sh", "/bin/bash")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o750

    def test_the_meta_shows_the_change_with_three_lines_around(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, "".join(f"{n}\n" for n in range(20)).encode())
        folder.edit("a", "10\n", "ten\n")
        [hunk] = folder.meta["diffs"]
        assert hunk["path"] == "a"
        assert hunk["oldText"].split("\n") == ["7", "8", "9", "10", "11", "12", "13"]
        assert hunk["newText"].split("\n") == ["7", "8", "9", "ten", "11", "12", "13"]

    @pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
    def test_the_change_names_the_path_as_asked_for(self, absolute: bool, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"alpha\nbeta\ngamma\n")
        path = str(tmp_path / "a") if absolute else "a"
        folder.edit(path, "beta", "BETA")
        assert folder.meta["diffs"] == [
            {"path": path, "oldText": "alpha\nbeta\ngamma", "newText": "alpha\nBETA\ngamma"}
        ]

    def test_changes_that_are_far_apart_stand_apart(self, tmp_path: Path) -> None:
        lines = [f"{n}\n" for n in range(40)]
        folder = self.seen(tmp_path, "".join(lines).encode())
        lines[2], lines[9], lines[30] = "two\n", "nine\n", "thirty\n"
        folder.write("a", "".join(lines))
        shown = [hunk["newText"].split("\n") for hunk in folder.meta["diffs"]]
        assert [(one[0], one[-1]) for one in shown] == [("0", "12"), ("27", "33")]

    def test_lines_in_an_empty_file_were_only_added(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"")
        folder.write("a", "x\n")
        assert folder.meta["diffs"] == [{"path": "a", "oldText": None, "newText": "x"}]

    def test_a_text_of_equal_lines_is_compared_at_once(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"\n" * 100_000 + b"a\n")
        folder.write("a", "b\n" + "\n" * 100_000)
        assert len(folder.meta["diffs"]) == 1

    def test_half_a_character_never_breaks_a_file(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"x\n")
        assert "updated" in folder.edit("a", "x", "\ud800")
        assert "1: ?" in folder.read("a")

    def test_an_edit_of_a_missing_file_is_noted(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"x\n")
        (tmp_path / "a").unlink()
        folder.edit("a", "x", "y")
        assert (folder.code, len(folder.last.notes)) == ("FS_NOT_FOUND", 1)
        (tmp_path / "a").write_text("x\n")
        folder.write("a", "y\n")
        assert folder.code == "FS_NOT_OBSERVED"

    def test_a_file_that_changes_under_the_hand_is_left_alone(self, tmp_path: Path) -> None:
        place = Folder(tmp_path).workspace.place("a")
        (tmp_path / "a").write_text("one\n")
        facts = (tmp_path / "a").stat()
        (tmp_path / "a").write_text("another\n")
        with pytest.raises(Refused, match="has changed"):
            publish(place, b"mine\n", replacing=facts)
        with pytest.raises(Refused, match="has not been read"):
            publish(place, b"mine\n", replacing=None)
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
            ("a", "another\n")
        ]

    def test_folders_on_the_way_are_made(self, tmp_path: Path) -> None:
        assert "Created" in Folder(tmp_path).write("a/b/c.txt", "x")
        assert (tmp_path / "a/b/c.txt").read_text() == "x"

    def test_lone_surrogates_do_not_stop_a_write(self, tmp_path: Path) -> None:
        assert "Created" in Folder(tmp_path).write("a", "x\ud800y")

    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, b"old\n")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        import signal

        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
        try:
            text = folder.write("a", "y" * 100_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)
        assert text.startswith("Error: cannot write")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_text() == "old\n"

    def test_edits_of_one_file_go_one_by_one(self, tmp_path: Path) -> None:
        folder = self.seen(tmp_path, "".join(f"<{n}>\n" for n in range(40)).encode())
        tool = EditTool(folder.workspace, folder.guard)

        def change(n: int) -> None:
            arguments = {"file_path": "a", "old_string": f"<{n}>", "new_string": f"[{n}]"}
            asyncio.run(tool.run(arguments, CALL))

        threads = [threading.Thread(target=change, args=(n,)) for n in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (tmp_path / "a").read_text() == "".join(f"[{n}]\n" for n in range(40))

    def test_a_cancelled_write_has_happened_whole_or_not_at_all(self, tmp_path: Path) -> None:
        folder = Folder(tmp_path)
        tool = WriteTool(folder.workspace, folder.guard)

        async def scenario() -> None:
            arguments = {"file_path": "a", "content": "x" * 1_000_000}
            task = asyncio.ensure_future(tool.run(arguments, CALL))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(scenario())
        left = [path.name for path in tmp_path.iterdir()]
        assert left in ([], ["a"])
        if left:
            assert (tmp_path / "a").stat().st_size == 1_000_000
