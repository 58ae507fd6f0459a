"""Files: where a configuration is found, how it is read, and what a damaged one says."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.config import load
from slicetape.config.toml_text import parse_toml
from slicetape.config.tree import Source
from slicetape.config.yaml_text import parse_yaml, scalar
from slicetape.errors import ConfigError
from slicetape.policy.settings import HistorySettings, Settings


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as wrong:
        load(path)
    text = str(wrong.value)
    assert len(text) < 900
    assert text.count("\n") <= 1
    return text.replace(str(path), path.name)


YAML = "maxStepsPerTurn: 7\nhistory:\n  keepRecentTurns: 2\n"
TOML = "maxStepsPerTurn = 7\n\n[history]\nkeepRecentTurns = 2\n"
PYPROJECT = '[project]\nname = "x"\n\n[tool.slicetape.history]\nkeepRecentTurns = 2\n'


def test_no_file_gives_the_defaults(tmp_path: Path) -> None:
    loaded = load(start_dir=tmp_path)
    assert loaded.settings == Settings()
    assert loaded.path is None
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.advice == ()


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("slicetape.yaml", YAML, 3),
        ("slicetape.yml", YAML, 3),
        ("slicetape.toml", TOML, 4),
        ("pyproject.toml", PYPROJECT, 5),
    ],
)
def test_each_file_name_is_found_and_its_lines_are_known(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    path = written(tmp_path, name, text)
    loaded = load(start_dir=tmp_path)
    assert loaded.settings.history.keep_recent_turns == 2
    assert loaded.path == path
    assert loaded.origins["history.keepRecentTurns"] == f"{path}:{line}"
    assert loaded.origins["history.entryMaxChars"] == "default"


def test_json_is_yaml(tmp_path: Path) -> None:
    path = written(tmp_path, "own.json", '{"history": {"entryMaxChars": 300}}')
    assert load(path).settings.history.entry_max_chars == 300


def test_the_nearest_folder_up_to_the_repository_root_decides(tmp_path: Path) -> None:
    written(tmp_path, "slicetape.toml", "maxStepsPerTurn = 1\n")
    root = tmp_path / "repo"
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    assert load(start_dir=inner).path is None  # no repository: only the folder itself
    (root / ".git").mkdir()
    assert load(start_dir=inner).path is None  # the search stops at the repository root
    path = written(root, "slicetape.toml", "maxStepsPerTurn = 2\n")
    assert load(start_dir=inner).path == path
    nearer = written(root / "a", "slicetape.yaml", "maxStepsPerTurn: 3\n")
    assert load(start_dir=inner).path == nearer


def test_a_pyproject_of_somebody_else_is_passed_over(tmp_path: Path) -> None:
    written(tmp_path, "pyproject.toml", '[project]\nname = "slicetape-user"\n')
    assert load(start_dir=tmp_path).path is None


def test_two_files_in_one_folder_are_a_conflict(tmp_path: Path) -> None:
    written(tmp_path, "slicetape.toml", TOML)
    written(tmp_path, "pyproject.toml", PYPROJECT)
    with pytest.raises(ConfigError, match=r"slicetape\.toml and pyproject\.toml both configure"):
        load(start_dir=tmp_path)


def test_keywords_win_over_the_file_and_say_so(tmp_path: Path) -> None:
    path = written(tmp_path, "slicetape.yaml", "history:\n  entryMaxChars: 4000\nmode: slice\n")
    loaded = load(
        path,
        keywords={"history": {"entry_max_chars": None}, "max_steps_per_turn": 9},
    )
    assert loaded.settings.history.entry_max_chars is None
    assert loaded.settings.max_steps_per_turn == 9
    assert loaded.origins["history.entryMaxChars"] == "keyword"
    assert loaded.origins["maxStepsPerTurn"] == "keyword"
    assert loaded.origins["mode"] == f"{path}:3"
    whole = load(path, keywords={"history": HistorySettings(keep_recent_turns=3)})
    assert whole.settings.history == HistorySettings(keep_recent_turns=3)


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"maxStepsPerTurn": 1}, "keyword maxStepsPerTurn: no such setting"),
        ({"max_steps_per_turn": 0}, "keyword max_steps_per_turn: maxStepsPerTurn must be"),
        ({"history": 3}, "keyword history: must be a mapping or HistorySettings, found 3"),
        ({"history": {"keepRecentTurns": 3}}, "keyword history.keepRecentTurns: no such setting"),
        ({"history": {"keep_recent_turns": None}}, "found null"),
    ],
)
def test_a_wrong_keyword_is_named(tmp_path: Path, keywords: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        load(start_dir=tmp_path, keywords=keywords)
    assert text in str(wrong.value)


def test_effort_off_is_a_word_in_yaml(tmp_path: Path) -> None:
    path = written(tmp_path, "slicetape.yaml", "defaultReasoningEffort: off\n")
    assert load(path).settings.default_reasoning_effort == "off"


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a.yaml", "mode: slice\nmode: slice\n", "a.yaml:2: mode is set twice, first on line 1"),
        ("a.yaml", "history: {keepRecentTurns: 1, keepRecentTurns: 2}", "is set twice"),
        ("a.toml", "mode = 'slice'\nmode = 'slice'\n", "a.toml:2: not valid TOML: "),
        ("a.yaml", "- 1\n- 2\n", "a.yaml:1: a configuration must be a table of keys"),
        ("a.yaml", "hello\n", 'a.yaml:1: a configuration must be a table of keys, found "hello"'),
        ("a.yaml", "null\n", "found null"),
        ("a.yaml", "mode: slice\n---\nmode: slice\n", "a.yaml:3: holds several documents"),
        ("a.yaml", "mode: [slice\n", "a.yaml:"),
        ("a.yaml", "a: 1\n\tb: 2\n", "a.yaml:2: not valid YAML"),
        ("a.yaml", "mode: *nothing\n", "alias"),
        ("a.yaml", "history: &h\n  keepRecentTurns: *h\n", "alias *h contains itself"),
        ("a.yaml", "? [1, 2]\n: 3\n", "a.yaml:1: a key must be a plain word"),
        ("a.yaml", "fold:\n  pinSteps: !!python/object:os.system 1\n", "a.yaml:2: fold.pinSteps"),
        ("a.yaml", "maxStepsPerTurn: " + "9" * 5000, "maxStepsPerTurn must be a positive"),
        ("a.yaml", "maxStepsPerTurn: " + "x" * 400, 'positive safe integer, found "xxx'),
        ("a.toml", "maxStepsPerTurn = " + "9" * 5000, "a.toml: not valid TOML"),
        ("a.toml", "maxStepsPerTurn = 1979-05-27\n", "positive safe integer, found 1979-05-27"),
        ("a.toml", "maxStepsPerTurn = 9007199254740992\n", "a.toml:1: maxStepsPerTurn must be"),
        ("a.toml", "[history]\nentryMaxChars = nan\n", "a.toml:2: history.entryMaxChars must be"),
        ("a.toml", "[history]\nentryMaxChars = inf\n", "positive safe integer, found inf"),
        ("a.toml", "[[history]]\nentryMaxChars = 300\n", "history must be a table of keys"),
        ("a.toml", "history.entryMaxChars = true\n", "a.toml:1: history.entryMaxChars must be"),
        ("a.yaml", b"\xff\xfe\x00", "a.yaml:1: not UTF-8 text"),
        ("a.yaml", b"mode: slice\n\xff", "a.yaml:2: not UTF-8 text"),
        ("a.yaml", b"mode: \x00slice\n", "not valid YAML"),
        ("a.toml", b"mode = \x00", "a.toml:1: not valid TOML"),
        ("a.toml", "mode = ", "not valid TOML: Invalid value"),
        ("a.ini", "mode = slice", "cannot tell its format"),
        ("pyproject.toml", "[tool.other]\n", "has no table [tool.slicetape]"),
        ("a.yaml", "x" * (1 << 20) + "y", "larger than 1 MiB"),
        ("a.toml", "a = " + "[" * 100_000, "a.toml: nested too deeply"),
        ("a.toml", "a" + ".a" * 5000 + " = 1", "a.toml:1: nested too deeply"),
        ("a.toml", "[a" + ".a" * 900 + "]", "a.toml: nested too deeply"),
        ("a.toml", "a = " + "[" * 90 + "]" * 90, "a.toml: nested too deeply"),
        ("a.yaml", "[" * 100_000, "nest"),
        ("a.yaml", "{a: " * 100 + "}" * 100, "a.yaml:1: nested more than 64 deep"),
    ],
)
def test_a_bad_file_is_one_clear_error(
    tmp_path: Path, name: str, text: str | bytes, error: str
) -> None:
    message = refusal(written(tmp_path, name, text))
    assert error in message
    assert message.startswith(name)


def test_a_megabyte_of_blanks_or_names_is_read_at_once(tmp_path: Path) -> None:
    assert load(written(tmp_path, "a.toml", " " * 1_000_000)).settings == Settings()
    names = "".join(f"name{i} = 1\n" for i in range(60_000))
    assert "a.toml:1: Unknown slice configuration key name0." in refusal(
        written(tmp_path, "a.toml", names)
    )
    with pytest.raises(ConfigError, match="49 more; slicetape config check lists all"):
        load(tmp_path / "a.toml")


def test_hostile_names_are_cut_and_escaped(tmp_path: Path) -> None:
    name = "\\u001b[31m" + "x" * 500
    message = refusal(written(tmp_path, "a.yaml", f'"{name}": 1\n'))
    assert "\x1b" not in message
    assert "\\x1b[31mx" in message


def test_aliases_are_the_same_entry_and_never_expanded(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 40)]
    message = refusal(written(tmp_path, "bomb.yaml", "\n".join(rows)))
    assert "bomb.yaml:1: Unknown slice configuration key a0." in message
    text = "digest: {headLines: &n 3, tailLines: *n}\n"
    digest = load(written(tmp_path, "good.yaml", text)).settings.digest
    assert (digest.head_lines, digest.tail_lines) == (3, 3)


def test_missing_and_special_files(tmp_path: Path) -> None:
    assert "a.yaml: cannot be read: No such file" in refusal(tmp_path / "a.yaml")
    (tmp_path / "folder.yaml").mkdir()
    assert "not a regular file" in refusal(tmp_path / "folder.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "not a regular file" in refusal(tmp_path / "pipe.yaml")
    with pytest.raises(ConfigError, match="NUL"):
        load(tmp_path / "a\0.yaml")


def test_an_empty_file_is_the_empty_configuration(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.toml"):
        for text in ("", "# nothing yet\n", "\ufeff"):
            assert load(written(tmp_path, name, text)).settings == Settings()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"), ("yes", "yes"), ("true", True), ("FALSE", False), ("~", None), ("", None),
        ("012", 12), ("0o17", 15), ("0x1F", 31), ("-3", -3), ("1_000", "1_000"), ("1e3", 1000.0),
        (".5", 0.5), (".inf", math.inf), ("-.INF", -math.inf), ("2001-01-01", "2001-01-01"),
        ("1:30", "1:30"), ("+", "+"), ("e", "e"),
    ],
)  # fmt: skip
def test_yaml_scalars_follow_version_1_2(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_quoted_and_tagged_yaml_scalars(tmp_path: Path) -> None:
    assert 'found "5"' in refusal(written(tmp_path, "a.yaml", 'maxStepsPerTurn: "5"\n'))
    assert 'found "5"' in refusal(written(tmp_path, "a.yaml", "maxStepsPerTurn: !!str 5\n"))
    path = written(tmp_path, "a.yaml", 'maxStepsPerTurn: !!int "5"\n')
    assert load(path).settings.max_steps_per_turn == 5


def test_toml_lines_are_claimed_only_when_one_line_can_be_meant(tmp_path: Path) -> None:
    text = 'note = """\nmode = 1\n"""\n[fold]\n"pinSteps" = 3\n[digest]\nminChars = 1\n'
    root = parse_toml(text, Source("x"))
    entries = root.value.entries  # type: ignore[union-attr]
    assert entries["note"].line == 1
    assert entries["fold"].value.entries["pinSteps"].line == 5
    path = written(tmp_path, "a.toml", "[history] # here\nkeepRecentTurns = 1\n")
    assert load(path).origins["history.keepRecentTurns"] == f"{path}:2"
    path = written(tmp_path, "a.toml", "history = {keepRecentTurns = 1}\n")
    assert load(path).origins["history.keepRecentTurns"] == f"{path}:history.keepRecentTurns"
    path = written(tmp_path, "a.toml", "[[tape]]\nmode = 1\n")
    assert refusal(path).startswith("a.toml: Retired slice configuration tape")


def test_without_pyyaml_the_error_says_what_to_install(tmp_path: Path) -> None:
    path = written(tmp_path, "a.yaml", YAML)
    program = (
        "import sys; sys.modules['yaml'] = None\n"
        "from slicetape.config import load\n"
        "from slicetape.errors import ConfigError\n"
        "try: load(sys.argv[1])\n"
        "except ConfigError as wrong: print(wrong)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert "pip install 'slicetape[cli]'" in ran.stdout


@given(st.text(max_size=200) | st.text(alphabet="[]{}:,&*!?-|> \n'\"#a1.", max_size=200))
def test_any_text_parses_or_is_one_error(text: str) -> None:
    for parse in (parse_yaml, parse_toml):
        try:
            parse(text, Source("x"))
            message = "x:"
        except ConfigError as wrong:
            message = str(wrong)
        assert message.startswith("x:")
        assert "\n" not in message
