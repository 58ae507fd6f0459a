"""Results whose logged text is a preview: brought back from the store, or marked."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from recall_story import Story, result
from slicetape.log.messages import ToolResultBlock
from slicetape.log.spill import Blobs, SessionSpills
from slicetape.recall.locators import Locators
from slicetape.recall.spilled import NoSpills
from slicetape.recall.step import render_step
from slicetape.recall.tools import Recall

FULL = "\n".join(f"worker {number} ok" for number in range(1200))
LOCATOR = 'expand_result({"seq":4,"formatVersion":3})'


def head(path: str, size: int = 99) -> str:
    return f"[bash · log · full text ({size} bytes) stored at {path} — Use read]\nshown"


def notice(path: str) -> str:
    return (
        f"shown\n\n(Omitted 10 bytes. Full formatted result stored at: {path}. Use read with "
        "offset/limit, or grep this path to search within it.)"
    )


class Spilled:
    """A session of one step; `spill` puts parts into the store, `step` and `expand` read."""

    def __init__(self, folder: Path) -> None:
        self.blobs = Blobs(folder)
        self.story = Story()
        self.known: dict[str, str | None] = {}
        self.rows: list[Any] = []

    def keep(self, text: str, *, block: int = 1, part: int = 1) -> str:
        row = self.blobs.put(text, block=block, part=part)
        self.rows.append(row)
        return row.sha256

    def imported(self, path: str, text: str | None) -> None:
        self.known[path] = None if text is None else self.blobs.put(text, block=1, part=1).sha256

    def run(self, *blocks: ToolResultBlock) -> None:
        calls = [(f"c{number}", "bash", "{}") for number in range(len(blocks))]
        self.story.start(1)
        self.story.heard("go")
        self.story.said(1, 1, calls=calls[:1])
        meta = Raw(msgspec.json.encode({"spill": self.rows})) if self.rows else Raw()
        self.story.returned(1, 1, *blocks, meta=meta)
        self.story.end(1)

    def recall(self) -> Recall:
        spills = SessionSpills(self.story.events, self.blobs, self.known)
        return self.story.recall(spills=spills)

    def step(self) -> str:
        return Story.ask_of(self.recall(), "recall_step", turn="1", step="1")

    def expand(self, **arguments: Any) -> str:
        return Story.ask_of(self.recall(), "expand_result", turn=1, step=1, **arguments)


@pytest.fixture
def spilled(tmp_path: Path) -> Spilled:
    return Spilled(tmp_path / "blobs")


def test_case_127_a_stored_result_comes_back_whole(spilled: Spilled) -> None:
    spilled.keep(FULL)
    spilled.run(result("c0", "worker 0 ok\n…"))
    page = spilled.step()
    assert page.endswith(f"## Results (verbatim)\n[result]\n{FULL}\n")
    assert "NOT full output" not in page
    assert spilled.expand() == f"[full result of bash · turn 1 step 1 call 1]\n{FULL}"


@pytest.mark.parametrize("marked", [True, False])
def test_case_128_the_log_alone_marks_each_preview(spilled: Spilled, marked: bool) -> None:
    shown = "worker 0" if marked else head("/t/a.txt", 17)
    if marked:
        spilled.keep(FULL)
    spilled.run(result("c0", shown))
    page = render_step(spilled.story.view, 1, 1, spills=None, locators=Locators())
    size = len(FULL) if marked else 17
    where = f"blobs/{spilled.rows[0].sha256}" if marked else "/t/a.txt"
    assert "logged tool record; spilled results below are previews: what" in page
    assert page.endswith(
        "## Results (previews where marked; use the exact expansion locator for full text)\n"
        f"[result]\n[text part 1 preview — NOT full output; {size} bytes stored at {where}; "
        f"full text: {LOCATOR}]\n{shown}\n"
    )
    assert "spill unavailable" not in page


def test_case_129_a_missing_store_is_marked_and_raises_nothing(spilled: Spilled) -> None:
    sha256 = spilled.keep(FULL)
    spilled.run(result("c0", "worker 0", "plain"))
    (spilled.blobs.folder / sha256).unlink()  # type: ignore[operator]
    page = spilled.step()
    assert "→ bash({})" in page
    assert f"full text: {LOCATOR}]\n[spill unavailable: expand_result: the full text of" in page
    assert page.endswith("\nworker 0\nplain\n")


@pytest.mark.parametrize("path", ["/srv/my files/v1.2/out.tar.txt", "C:\\a b\\c.d"])
def test_case_130_a_native_notice_is_recognised(spilled: Spilled, path: str) -> None:
    spilled.imported(path, FULL)
    spilled.run(result("c0", notice(path)))
    assert spilled.step().endswith(f"[result]\n{FULL}\n")
    spilled.known[path] = None
    page = spilled.step()
    assert f"NOT full output; full text stored at {path};" in page
    assert "(unknown bytes)" in page
    assert "undefined" not in page
    assert "None" not in page


@pytest.mark.parametrize("form", [head, notice])
def test_case_131_plain_parts_stay_between_previews(spilled: Spilled, form: Any) -> None:
    spilled.imported("/t/1", "first whole")
    spilled.imported("/t/3", "third whole")
    spilled.run(result("c0", form("/t/1"), "plain", form("/t/3")))
    assert spilled.expand().endswith("]\nfirst whole\nplain\nthird whole")
    spilled.known["/t/3"] = None
    page = spilled.step()
    assert "[result]\nfirst whole\nplain\n[text part 3 preview — NOT full output; " in page
    assert spilled.expand().startswith(
        "ERROR expand_result: the full text of bash · turn 1 step 1 call 1 block 1 text part 3 ("
    )


def test_case_132_sibling_blocks_are_brought_back_each(spilled: Spilled) -> None:
    spilled.keep("one whole", block=1)
    spilled.keep("two whole", block=2)
    spilled.run(result("c0", "one…"), result("c1", "two…"))
    assert spilled.step().endswith("[result]\none whole\n[result]\ntwo whole\n")
    assert spilled.expand(block=2).endswith("block 2]\ntwo whole")


def test_case_167_grep_searches_the_stored_original(spilled: Spilled) -> None:
    spilled.keep(FULL)
    spilled.run(result("c0", "worker 0 ok\n…"))
    page = spilled.expand(grep="worker 700")
    assert page.startswith(
        "[bash · turn 1 step 1 call 1 · 1 of 1200 lines match /worker 700/i]\n699: worker 698 ok"
    )
    assert "701: worker 700 ok" in page


def test_case_169_a_missing_file_is_named(spilled: Spilled) -> None:
    spilled.imported("/t/gone.txt", None)
    spilled.run(result("c0", head("/t/gone.txt", 64)))
    assert spilled.expand() == (
        "ERROR expand_result: the full text of bash · turn 1 step 1 call 1 block 1 text part 1 "
        "(64 bytes) was stored at /t/gone.txt and cannot be read from here (the stored text is "
        "gone); read that locator with the file tools instead"
    )


def test_a_changed_store_is_not_passed_off_as_the_original(spilled: Spilled) -> None:
    sha256 = spilled.keep(FULL)
    spilled.run(result("c0", "worker 0"))
    (spilled.blobs.folder / sha256).write_text("forged")  # type: ignore[operator]
    assert "was changed; restore it from a copy" in spilled.expand()


def test_d11_a_path_in_text_is_never_opened(spilled: Spilled, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    texts = [head(str(secret), 10), notice(str(secret))]
    spilled.run(result("c0", *texts))
    assert spilled.expand() == "\n".join(["[full result of bash · turn 1 step 1 call 1]", *texts])
    assert spilled.step().endswith("\n".join(["## Results (verbatim)", "[result]", *texts, ""]))
    assert "the secret" not in spilled.step()


def test_several_blocks_are_named_in_the_mark(spilled: Spilled) -> None:
    spilled.imported("/t/b", None)
    spilled.run(result("c0", "plain"), result("c1", head("/t/b")))
    assert 'full text: expand_result({"seq":4,"formatVersion":3,"block":2})]' in spilled.step()


def test_a_session_without_a_store_has_whole_texts_only(spilled: Spilled) -> None:
    spilled.run(result("c0", head("/t/a")))
    assert spilled.story.ask("expand_result", turn=1, step=1).endswith(head("/t/a"))
    with pytest.raises(Exception, match="seq 4 block 1 part 1 has no stored text"):
        NoSpills().read(4, 1, 1)
