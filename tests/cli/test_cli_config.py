"""`slicetape config`: exit status, streams and the two forms of output."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slicetape.cli.config import config


def ran(*arguments: str) -> Result:
    result = CliRunner().invoke(config, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def profile(folder: Path, body: str) -> str:
    path = folder / "p.yaml"
    path.write_text(f"- id: slice-agent-loop\n  config:\n{body}", encoding="utf-8")
    return str(path)


def test_check_advises_and_passes(tmp_path: Path) -> None:
    path = profile(tmp_path, "    maxStepsPerTurn: 50\n")
    result = ran("check", "--profile", path)
    assert result.exit_code == 0
    assert f"advice: {path}:3: maxStepsPerTurn 50 was the default" in result.stdout
    assert result.stdout.endswith(f"{path}: ok\n")
    assert result.stderr == ""


def test_check_names_every_problem_and_fails(tmp_path: Path) -> None:
    path = profile(tmp_path, "    histroy: 1\n    maxStepsPerTurn: 0\n")
    result = ran("check", "--profile", path)
    assert result.exit_code == 1
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == [f"{path}:3", f"{path}:4"]
    assert "Did you mean history?" in lines[0]
    found = json.loads(ran("check", "--profile", path, "--json").stdout)
    assert found["ok"] is False
    assert len(found["problems"]) == 2


def test_a_missing_file_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    for command in ("check", "show"):
        for option in ("--config", "--profile"):
            result = ran(command, option, str(tmp_path / "absent.yaml"))
            assert result.exit_code == 1
            assert result.stderr.count("\n") == 1
            assert "No such file" in result.stderr


def test_two_sources_are_wrong_usage(tmp_path: Path) -> None:
    path = profile(tmp_path, "    {}\n")
    for command in ("check", "show"):
        result = ran(command, "--config", path, "--profile", path)
        assert result.exit_code == 2
        assert "give one of them" in result.stderr


def test_show_prints_value_and_origin(tmp_path: Path) -> None:
    path = tmp_path / "slicetape.toml"
    path.write_text("[digest]\nmaxLineChars = inf\n[history]\nsealOnlyIfShorter = false\n")
    result = ran("show", "--config", str(path))
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert rows["history.sealOnlyIfShorter"] == ["false", f"{path}:4"]
    assert rows["maxStepsPerTurn"] == ["no", "limit", "default"]
    found = json.loads(ran("show", "--config", str(path), "--json").stdout)
    assert found["file"] == str(path)
    assert found["settings"]["digest.maxLineChars"] == {"value": "Infinity", "from": f"{path}:2"}


def test_without_a_file_the_defaults_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ran("check").stdout == "no configuration file, defaults: ok\n"
    assert json.loads(ran("show", "--json").stdout)["file"] is None


def test_help_has_an_example() -> None:
    for command in ("check", "show"):
        assert f"slicetape config {command} --profile" in ran(command, "--help").stdout
