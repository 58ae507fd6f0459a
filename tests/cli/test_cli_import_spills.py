"""`slicetape import --spills`: outputs that another host kept outside its log come along."""

from pathlib import Path

from cli_run import Cli, told
from story import Story

FULL = "one\ntwo\nthree\n" * 20
HEAD = "[view · full text (280 bytes) stored at /elsewhere/session-1/out.txt — read it there]\none"


def spilled(story: Story) -> None:
    story.start()
    story.human()
    story.step_start()
    story.says(calls={"c1": ("bash", {"command": "cat out"})}, step=1)
    story.result("c1", HEAD)
    story.step_end()
    story.end()


def log(tmp_path: Path) -> Path:
    return told(tmp_path / "in" / "session.v3.jsonl", spilled)


def expanded(cli: Cli) -> str:
    shown = cli("recall", "story", "expand", "5")
    assert shown.code == 0, shown.err
    return shown.out.partition("\n")[2]


def test_a_preview_finds_its_full_text_by_the_name_of_its_file(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "spills"
    folder.mkdir()
    (folder / "out.txt").write_text(FULL, encoding="utf-8")
    assert cli("import", log(tmp_path), "--spills", folder).code == 0
    (folder / "out.txt").unlink()
    assert expanded(cli) == FULL


def test_without_the_folder_a_preview_is_ordinary_text(cli: Cli, tmp_path: Path) -> None:
    assert cli("import", log(tmp_path)).code == 0
    assert expanded(cli) == HEAD + "\n"


def test_a_file_that_is_not_there_is_told_and_nothing_is_made_up(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "spills").mkdir()
    ran = cli("import", log(tmp_path), "--spills", tmp_path / "spills")
    assert ran.code == 0
    assert "1 previews have no full text" in ran.err
    assert expanded(cli) == HEAD + "\n"


def test_a_path_in_text_opens_nothing_outside_the_folder(cli: Cli, tmp_path: Path) -> None:
    """Only the last part of a printed path is looked for, and never through a link."""
    folder = tmp_path / "spills"
    folder.mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    (folder / "out.txt").symlink_to(secret)
    ran = cli("import", log(tmp_path), "--spills", folder)
    assert "no full text" in ran.err
    assert "secret" not in expanded(cli)
