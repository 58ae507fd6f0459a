"""Profiles of a host: the row is found at any depth, and errors name file, line and key."""

from pathlib import Path

import pytest

from slicetape.config import load_profile
from slicetape.errors import ConfigError
from slicetape.policy.settings import Settings

PROFILE = """\
version: 1
plugins:
  - id: stock-agent-loop
    config: {maxParallelToolCalls: 4, tape: nothing of ours}
  - group:
      rows:
        - name: slice-agent-loop
          config:
            defaultReasoningEffort: inherit
            history:
              keepRecentTurns: 1
"""


def profile(folder: Path, text: str, name: str = "web.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as wrong:
        load_profile(path)
    return str(wrong.value).replace(str(path), path.name)


def test_the_row_is_found_by_name_at_any_depth(tmp_path: Path) -> None:
    path = profile(tmp_path, PROFILE)
    loaded = load_profile(path)
    assert loaded.settings.history.keep_recent_turns == 1
    assert loaded.origins["history.keepRecentTurns"] == f"{path}:11"
    assert loaded.origins["defaultReasoningEffort"] == f"{path}:9"
    assert loaded.path == path


def test_the_row_is_found_by_id_in_later_documents_toml_and_json(tmp_path: Path) -> None:
    later = profile(tmp_path, "a: 1\n---\n- id: slice-agent-loop\n  config: {maxStepsPerTurn: 3}\n")
    toml = profile(
        tmp_path, '[[rows]]\nid = "slice-agent-loop"\nconfig.maxStepsPerTurn = 3\n', "p.toml"
    )
    json = profile(
        tmp_path, '[{"id": "slice-agent-loop", "config": {"maxStepsPerTurn": 3}}]', "p.json"
    )
    for path in (later, toml, json):
        assert load_profile(path).settings.max_steps_per_turn == 3
    assert load_profile(toml).origins["maxStepsPerTurn"] == f"{toml}:maxStepsPerTurn"


def test_a_row_named_by_its_package_is_found(tmp_path: Path) -> None:
    text = "- insert:\n  - name: '@x/dsh-slice-agent-loop'\n    config: {maxStepsPerTurn: 3}\n"
    assert load_profile(profile(tmp_path, text)).settings.max_steps_per_turn == 3
    fold = "- {name: '@x/dsh-slice-agent-loop/fold', config: {}}\n"
    assert "no row with id or name" in refusal(profile(tmp_path, fold))


def test_a_row_without_config_means_the_defaults(tmp_path: Path) -> None:
    path = profile(tmp_path, "- id: slice-agent-loop\n- name: slice-agent-loop\n")
    assert load_profile(path).settings == Settings()


def test_an_error_names_file_line_and_key(tmp_path: Path) -> None:
    text = PROFILE.replace("keepRecentTurns: 1", "keepRecentTurns: -1")
    assert refusal(profile(tmp_path, text)) == (
        "web.yaml:11: history.keepRecentTurns must be a non-negative safe integer, found -1"
    )
    text = PROFILE.replace("keepRecentTurns: 1", "pinUserChars: 10")
    assert refusal(profile(tmp_path, text)).startswith(
        "web.yaml:11: Retired history configuration pinUserChars: "
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("rows: []\n", "web.yaml: no row with id or name slice-agent-loop"),
        ("", "web.yaml: no row with id or name slice-agent-loop"),
        ("- id: slice-agent-loop\n  config:\n", "web.yaml:2: a configuration must be a table"),
        (
            "- {id: slice-agent-loop, config: {}}\n- {name: slice-agent-loop, config: {}}\n",
            "web.yaml: 2 rows slice-agent-loop carry a config (lines 1, 2); keep one",
        ),
        (
            "- id: slice-agent-loop\n  config:\n    <<: {mode: slice}\n",
            "web.yaml:3: Unknown slice configuration key <<.",
        ),
    ],
)
def test_a_profile_that_cannot_be_used_is_one_error(tmp_path: Path, text: str, error: str) -> None:
    assert refusal(profile(tmp_path, text)).startswith(error)


def test_two_rows_without_known_lines_are_still_a_conflict(tmp_path: Path) -> None:
    row = '[[rows]]\nid = "slice-agent-loop"\nconfig = {}\n'
    assert "2 rows slice-agent-loop carry a config; keep one" in refusal(
        profile(tmp_path, row + row, "p.toml")
    )


def test_one_row_reached_through_an_alias_is_one_row(tmp_path: Path) -> None:
    path = profile(tmp_path, "a: &row {id: slice-agent-loop, config: {}}\nb: *row\nc: [*row]\n")
    assert load_profile(path).settings == Settings()


def test_old_defaults_are_advised_on_without_failing(tmp_path: Path) -> None:
    path = profile(
        tmp_path,
        "id: slice-agent-loop\n"
        "config:\n"
        "  maxStepsPerTurn: 50\n"
        "  defaultReasoningEffort: low\n"
        "  fold: {pinSteps: 2}\n"
        "  history: {entryMaxChars: 8000}\n",
    )
    loaded = load_profile(path)
    assert loaded.settings.max_steps_per_turn == 50
    for line, key, now in (
        (3, "maxStepsPerTurn 50", "no limit"),
        (4, "defaultReasoningEffort low", "inherit"),
        (5, "fold.pinSteps 2", "0"),
        (6, "history.entryMaxChars 8000", "no limit"),
    ):
        text = next(advice for advice in loaded.advice if key in advice)
        assert text.startswith(f"{path}:{line}: {key} was the default of an older release")
        assert f"({now})" in text
    assert len(loaded.advice) == 4


def test_other_values_and_defaults_get_no_advice(tmp_path: Path) -> None:
    text = "id: slice-agent-loop\nconfig: {maxStepsPerTurn: 51, fold: {pinSteps: 0}}\n"
    assert load_profile(profile(tmp_path, text)).advice == ()


def test_keys_beside_config_are_pointed_out(tmp_path: Path) -> None:
    text = "id: slice-agent-loop\nmode: host\nhistory: {keepRecentTurns: 1}\nconfig: {}\n"
    path = profile(tmp_path, text)
    assert load_profile(path).advice == (
        f"{path}:3: history stands beside config and is not read; move it under config.",
    )
