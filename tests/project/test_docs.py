"""What the documents say is so: blocks run, commands parse, links and names lead somewhere."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import click
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
IDS = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?:src|tests|docs|benchmarks|scripts|requirements)/[\w./-]*\w")
NAME = re.compile(r"slicetape(?:\.\w+)+")
SETTINGS_FILES = {"slicetape.toml", "slicetape.yaml"}

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=IDS)


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, its text, and what stands between it and the one before."""

    language: str
    text: str
    before: str


def fences(path: Path) -> list[Fence]:
    text = path.read_text(encoding="utf-8")
    found, end = [], 0
    for match in FENCE.finditer(text):
        found.append(Fence(match[1], match[2], text[end : match.start()]))
        end = match.end()
    return found


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def python_of(path: Path) -> str:
    """The Python blocks of a document, as one program."""
    return "\n".join(block.text for block in fences(path) if block.language == "python")


def promised(path: Path) -> Iterator[str]:
    """The lines that a `text` block directly behind a Python block says are printed."""
    before = ""
    for block in fences(path):
        if block.language == "text" and before == "python" and not block.before.strip():
            yield from filter(None, block.text.splitlines())
        before = block.language


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if python_of(path)],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_the_python_of_a_document_runs_top_to_bottom_and_prints_what_it_says(
    path: Path, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", python_of(path)],
        cwd=tmp_path,
        env={**os.environ, "SLICETAPE_HOME": str(tmp_path / "home"), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    printed = ran.stdout.splitlines()
    assert [line for line in promised(path) if line not in printed] == []


def commands(path: Path) -> Iterator[list[str]]:
    """Every `slicetape …` and `make …` of a document, in words, its pipes and redirections cut."""
    lines = [
        line for block in fences(path) if block.language == "sh" for line in block.text.split("\n")
    ]
    lines += [
        line.removeprefix("$ ")
        for block in fences(path)
        if block.language == "console"
        for line in block.text.split("\n")
        if line.startswith("$ ")
    ]
    lines += INLINE.findall(prose(path))
    for line in lines:
        if not line.startswith(("slicetape ", "make ")):
            continue
        words = shlex.split(line, comments=True)
        end = next((at for at, word in enumerate(words) if word in {"|", ">", "&&", "…"}), None)
        yield words[:end]


def test_the_documents_have_commands_to_check() -> None:
    assert sum(1 for path in DOCUMENTS for _ in commands(path)) > 30


@each_document
def test_every_slicetape_command_parses(path: Path) -> None:
    wrong = {}
    for words in commands(path):
        if words[0] == "slicetape":
            try:
                parse(words)
            except click.ClickException as error:
                wrong[shlex.join(words)] = error.format_message()
    assert wrong == {}


def parse(words: list[str]) -> None:
    """Parse as the program does: commands, arguments, options and their values; nothing runs."""
    from slicetape.cli.program import program

    command: click.Command = program
    name, rest = words[0], words[1:]
    parent: click.Context | None = None
    if isinstance(command, click.Group) and rest in (["-h"], ["--help"]):
        return
    while True:
        context = click.Context(command, parent, info_name=name, **command.context_settings)
        values, left, _ = command.make_parser(context).parse_args(list(rest))
        if not isinstance(command, click.Group):
            assert left == [], left
            check_values(command, context, values)
            return
        if not left:
            return
        found = command.get_command(context, left[0])
        if found is None:
            raise click.UsageError(f"no command {left[0]}")
        command, parent, name, rest = found, context, left[0], left[1:]


def check_values(command: click.Command, context: click.Context, values: dict[str, object]) -> None:
    """Hold the values that stand there to the types of their options; files need not exist."""
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice | click.IntRange) and isinstance(value, str):
            parameter.type.convert(value, parameter, context)


@each_document
def test_every_make_target_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {words[1] for words in commands(path) if words[0] == "make"}
    assert named - targets == set()


@each_document
def test_links_lead_to_files_and_headings(path: Path) -> None:
    broken = []
    for target in LINK.findall(prose(path)):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        there = path if not file else path.parent / file
        if not there.exists() or (heading and heading not in headings(there)):
            broken.append(target)
    assert broken == []


def headings(path: Path) -> set[str]:
    """The names under which a page shows its headings."""
    titles = re.findall(r"^#{1,6} (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_document
def test_names_of_the_code_exist(path: Path) -> None:
    quoted = [text for text in INLINE.findall(prose(path)) if NAME.fullmatch(text)]
    named = set(quoted) - SETTINGS_FILES
    assert sorted(name for name in named if not exists(name)) == []


@cache
def exists(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    words = name.split(".")
    for cut in range(len(words), 0, -1):
        module = module_at(".".join(words[:cut]))
        if module is not None:
            found: object = module
            for word in words[cut:]:
                if not hasattr(found, word):
                    return False
                found = getattr(found, word)
            return True
    return False


def module_at(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


@each_document
def test_files_that_are_named_exist(path: Path) -> None:
    named = [text for text in INLINE.findall(prose(path)) if FILE.fullmatch(text)]
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_page_of_docs_is_linked() -> None:
    linked = {
        (path.parent / target.partition("#")[0]).resolve()
        for path in DOCUMENTS
        for target in LINK.findall(prose(path))
        if "://" not in target
    }
    pages = {path for path in DOCUMENTS if ROOT / "docs" in path.parents}
    pages.discard(ROOT / "docs" / "status.md")  # what is under way is no documentation
    assert sorted(page.name for page in pages if page.resolve() not in linked) == []


def test_the_glossary_has_every_word_that_is_linked_to_one_concept() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([a-z ]+) \|", glossary, re.MULTILINE)
    assert len(words) == len(set(words))
    assert {"session", "event", "seq", "turn", "step", "entry", "locator", "arm"} <= set(words)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_format_of_the_log_names_every_kind_that_is_read_or_added() -> None:
    from slicetape.log.kinds import KNOWN_TYPES

    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    added = set(re.findall(r"\"(x/[a-z0-9-]+)\"", source))
    kinds = (set(KNOWN_TYPES) - {"slicetape/foreign"}) | added
    assert sorted(kind for kind in kinds if f"`{kind}`" not in page("docs/formats/log.md")) == []


def test_the_page_of_transcripts_has_a_row_for_every_format() -> None:
    from slicetape.formats.detect import MODULES

    rows = re.findall(r"^\| `([a-z-]+)` \|", page("docs/formats/transcripts.md"), re.MULTILINE)
    assert sorted(rows) == sorted(MODULES)


def test_the_readme_has_a_row_for_every_command() -> None:
    from slicetape.cli.program import COMMANDS

    section = page("README.md").split("\n## Commands\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == sorted(COMMANDS)


def test_the_readme_is_short_and_its_test_command_is_make_test() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 250
    assert "make test\n" in readme


@each_document
def test_a_figure_that_was_measured_names_a_script(path: Path) -> None:
    """A page that gives times or rates names one of the benchmarks."""
    text = prose(path)
    rates = re.findall(r"\d (?:ms|µs|MB a second|MB/s)\b", text)
    assert not rates or "benchmarks/" in text
