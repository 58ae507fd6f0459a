"""What things are called: the rules of the style guide that a program can check."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "slicetape"
MODULES = sorted(SOURCE.rglob("*.py"))
IDS = [str(path.relative_to(SOURCE)) for path in MODULES]

EMPTY_WORDS = {
    "manager", "helper", "util", "common", "misc", "base", "handler", "service", "processor",
}  # fmt: skip

# From the glossary's Never column: words that name one of our concepts and nothing else here.
# Words that also mean something of their own (index, hash, cache, summary, …) are left to review.
FOREIGN_WORDS = {
    "trajectory", "exchange", "iteration", "retrieve", "retrieval", "fetch", "evict", "archive",
    "overflow", "artifact", "checksum", "strategy", "platform", "variant", "pinned",
}  # fmt: skip

Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def words(name: str) -> list[str]:
    """`SessionLog` and `session_log` both as ["session", "log"], plurals as singulars."""
    spaced = "".join(f"_{c}" if c.isupper() else c for c in name)
    return [word.lower().removesuffix("s") for word in spaced.split("_") if word]


def definitions(path: Path) -> Iterator[Named]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Named):
            yield node


def public(path: Path) -> Iterator[Named]:
    """Public classes and functions of a module, and public methods of its public classes."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, Named) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from (
                    inner
                    for inner in node.body
                    if isinstance(inner, Named) and not inner.name.startswith("_")
                )


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_no_name_ends_in_a_word_that_says_nothing(path: Path) -> None:
    module = path.parent.name if path.name == "__init__.py" else path.stem
    names = [module, *(node.name for node in definitions(path))]
    empty = {word.removesuffix("s") for word in EMPTY_WORDS}
    assert [name for name in names if words(name)[-1:] and words(name)[-1] in empty] == []


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_public_names_use_the_words_of_the_glossary(path: Path) -> None:
    if "formats" in path.parts:
        pytest.skip("names of other people's formats keep their words")
    names = [node.name for node in public(path)]
    assert [name for name in names if FOREIGN_WORDS & set(words(name))] == []


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_modules_and_public_names_have_a_docstring(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module"
    assert [node.name for node in public(path) if not ast.get_docstring(node)] == []


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_no_file_is_longer_than_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_a_long_file_says_why_it_is_long(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if len(text.splitlines()) > 250:
        docstring = ast.get_docstring(ast.parse(text)) or ""
        assert docstring.count("\n") >= 2, "past 250 lines the module docstring gives the reason"


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_a_function_fits_a_screen(path: Path) -> None:
    long = [
        node.name
        for node in definitions(path)
        if not isinstance(node, ast.ClassDef) and lines_of_body(node) > 40
    ]
    assert long == []


def lines_of_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the statements behind the docstring."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_the_package_exports_at_most_25_sorted_names() -> None:
    import slicetape

    names = list(getattr(slicetape, "__all__", []))
    # constants, then classes, then functions, as the linter sorts them
    assert names == sorted(names, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert len(names) <= 25
    assert [name for name in names if not hasattr(slicetape, name)] == []
