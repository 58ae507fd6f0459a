"""`slicetape` itself: help, near misses, exit statuses, streams that break."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from cli_run import Cli, told, two_turns
from slicetape.cli.program import COMMANDS, program

ROOT = Path(__file__).parents[2]


def start(*arguments: str, home: Path, **streams: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "slicetape.cli", *arguments],
        env={**os.environ, "SLICETAPE_HOME": str(home)},
        **streams,  # type: ignore[call-overload]
    )


def interrupted(program: subprocess.Popen[bytes]) -> bytes:
    """What a program says on Ctrl-C; one that comes just ahead of a blocking call is asked again."""
    while True:
        program.send_signal(signal.SIGINT)
        try:
            return program.communicate(timeout=2)[1]
        except subprocess.TimeoutExpired:
            continue


def leaves() -> list[tuple[str, click.Command]]:
    found = []
    context = click.Context(program)
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        assert command is not None
        inner = command.commands if isinstance(command, click.Group) else {"": command}
        found += [(f"{name} {more}".strip(), one) for more, one in inner.items()]
    return found


def test_every_command_of_the_table_is_there() -> None:
    missing = [
        name for name, row in COMMANDS.items() if not find_spec(f"slicetape.cli.{row.module}")
    ]
    assert missing == []


def test_without_arguments_help_is_printed(cli: Cli) -> None:
    ran = cli()
    assert ran.code == 0
    assert ran.err == ""
    for name, row in COMMANDS.items():
        assert f"  {name} " in ran.out
        assert row.does in ran.out
    assert cli("--help").out == cli("-h").out == ran.out


def test_every_command_has_help_with_an_example() -> None:
    for name, command in leaves():
        text = command.get_help(click.Context(command, info_name=name))
        assert "Example" in text, name
        assert "slicetape " + name.split()[0] in text, name


def test_the_version_is_printed(cli: Cli) -> None:
    assert cli("--version").out.startswith("slicetape 0.")


def test_help_loads_no_command_and_importing_the_package_loads_no_library() -> None:
    code = (
        "import sys\n"
        "import slicetape\n"
        "assert not {'click', 'rich', 'msgspec'} & set(sys.modules)\n"
        "from slicetape.cli.program import run\n"
        "assert run(['--help']) == 0\n"
        "loaded = [name for name in sys.modules if name.startswith('slicetape.')]\n"
        "assert sorted(loaded) == ['slicetape.cli', 'slicetape.cli.output',"
        " 'slicetape.cli.program', 'slicetape.cli.text', 'slicetape.errors'], loaded\n"
        "assert 'rich' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_without_the_extra_the_message_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('click', 'rich'): raise ModuleNotFoundError(name)\n"
        "    def invalidate_caches(self): pass\n"
        "sys.path = [p for p in sys.path if 'site-packages' not in p] + [sys.argv[1]]\n"
        "from slicetape.cli import main\n"
        "main()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code, str(ROOT / "src")], capture_output=True, check=False
    )
    assert ran.returncode == 2
    assert b"pip install 'slicetape[cli]'" in ran.stderr
    assert ran.stderr.count(b"\n") == 2


@pytest.mark.parametrize(("typed", "meant"), [("imprt", "import"), ("shw", "show")])
def test_a_typo_gets_a_suggestion(cli: Cli, typed: str, meant: str) -> None:
    assert f"did you mean {meant}?" in cli.fails(typed, code=2)


def test_an_unknown_command_lists_the_known_ones(cli: Cli) -> None:
    assert "there are demo, chat, run, replay, import" in cli.fails("xyzzy", code=2)


def test_wrong_usage_is_two_lines_and_names_the_help(cli: Cli) -> None:
    assert cli.fails("show", code=2).endswith("Try: slicetape show --help\n")
    assert "--limit" in cli.fails("sessions", "--limit", "0", code=2)
    assert "--frob" in cli.fails("--frob", code=2)
    assert "arguments are missing" in cli.fails("recall", code=2)


def test_debug_shows_the_traceback_wherever_it_stands(cli: Cli) -> None:
    for arguments in (("--debug", "show", "absent"), ("show", "absent", "--debug")):
        ran = cli(*arguments)
        assert ran.code == 1
        assert "Traceback (most recent call last)" in ran.err
        assert "error: no session 'absent'" in ran.err


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    log = told(tmp_path / "a.jsonl", lambda story: [two_turns(story) for _ in range(300)])
    shown = start("show", str(log), home=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert shown.stdout is not None
    assert shown.stderr is not None
    assert shown.stdout.read(20)
    shown.stdout.close()
    assert shown.stderr.read() == b""
    shown.stderr.close()
    assert shown.wait() == 141


def test_control_c_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.jsonl")
    waiting = start("show", str(tmp_path / "slow.jsonl"), home=tmp_path, stderr=subprocess.PIPE)
    with (tmp_path / "slow.jsonl").open("wb"):  # returns once the program has opened its end
        err = interrupted(waiting)
    assert err == b"stopped\n"
    assert waiting.returncode == 130


def test_colour_is_for_terminals_alone(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = told(tmp_path / "a.jsonl", two_turns)
    assert "\x1b[" in cli("verify", log, terminal=True).out
    assert "\x1b[" not in cli("verify", log).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in cli("verify", log, terminal=True).out
    assert "\x1b[" not in cli("sessions", terminal=True).out
    assert "\x1b[" not in cli("show", "absent", terminal=True).err
