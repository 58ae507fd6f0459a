"""`provider:model` to a route and a key, or to a sentence that says what to set."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from slicetape.errors import ConfigError
from slicetape.loop.protocols import Route
from slicetape.models.keys import Secret, key_for
from slicetape.models.providers import KNOWN, PROVIDERS
from slicetape.models.routes import Chosen, model_from, parse, route_of
from slicetape.prices.sheet import sheet
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.openai_chat import DEEPSEEK, OPENAI, ChatWire

KEY = "sk-test-0123456789abcdef"


def route(spec: str, chosen: Chosen | None = None) -> Route:
    provider, model = parse(spec)
    return route_of(provider, model, chosen=chosen)


def test_deepseek_is_what_its_host_declares() -> None:
    found = route("deepseek:deepseek-v4-flash")
    assert (found.provider, found.model) == ("deepseek", "deepseek-v4-flash")
    assert (found.context_window, found.max_tokens) == (1_000_000, 256_000)
    assert (found.efforts, found.default_effort) == (("off", "low", "high", "max"), "high")
    assert isinstance(found.wire, ChatWire)
    assert found.wire.dialect is DEEPSEEK


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_has_a_route_for_any_model(name: str) -> None:
    found = route(f"{name}:a/b:c-1")
    assert (found.provider, found.model) == (name, "a/b:c-1")
    if name != "deepseek":
        assert (found.context_window, found.efforts, found.sheet) == (None, None, None)
    if name == "anthropic":
        assert isinstance(found.wire, MessagesWire)
        assert found.max_tokens == 32_000
    elif name == "openai":
        assert isinstance(found.wire, ChatWire)
        assert found.wire.dialect is OPENAI


@pytest.mark.parametrize(
    ("spec", "window", "most", "sheet_id"),
    [
        ("anthropic:claude-opus-5-5", 1_000_000, 128_000, "anthropic-5m-512"),
        ("anthropic:claude-opus-4-7", 1_000_000, 128_000, "anthropic-5m-2048"),
        ("anthropic:claude-sonnet-4-5-20250929", 200_000, 64_000, "anthropic-5m-1024"),
        ("anthropic:claude-haiku-4-5", 200_000, 64_000, "anthropic-5m-4096"),
        ("openai:gpt-5-mini", 400_000, 128_000, "openai-before-5.6"),
        ("openai:gpt-5.6-sol", 1_050_000, 128_000, "openai-5.6"),
        ("deepseek:deepseek-v4-pro", 1_000_000, 256_000, "v4-pro-0813-offpeak"),
    ],
)
def test_the_longest_known_name_counts(spec: str, window: int, most: int, sheet_id: str) -> None:
    found = route(spec)
    assert (found.context_window, found.max_tokens, found.sheet) == (window, most, sheet_id)


def test_every_known_model_has_prices_and_efforts_that_fit() -> None:
    for row in KNOWN:
        assert row.sheet
        assert sheet(row.sheet).id == row.sheet
        assert row.default is None or row.default in (row.efforts or ())


def test_what_a_person_set_wins_over_the_table() -> None:
    found = route("deepseek:x", Chosen(context_window=9_000, max_tokens=100))
    assert (found.context_window, found.max_tokens) == (9_000, 100)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("gpt-5", 'the model "gpt-5" names no provider; write one of deepseek:…, openai:…'),
        ("openai:", 'the model "openai:" names no provider'),
        (":x", "no provider"),
        ("deepsek:x", 'no provider "deepsek"; did you mean deepseek?'),
        ("nowhere:x", 'no provider "nowhere"; there are deepseek, openai'),
        ("openai:a\x1b[0mb", "is no name of a model"),
        ("openai:" + "x" * 300, "is no name of a model"),
        ("\x1b[31m:x", "no provider '\\\\x1b"),
    ],
)
def test_a_spec_that_names_nothing_says_what_to_write(spec: str, says: str) -> None:
    with pytest.raises(ConfigError) as told:
        parse(spec)
    assert says.replace("\\\\", "\\") in str(told.value)


def test_nothing_is_chosen_silently() -> None:
    with pytest.raises(ConfigError, match="no model is chosen and no key is set: give --model"):
        model_from(None, environ={})
    with pytest.raises(ConfigError, match="choose a model: --model anthropic:MODEL"):
        model_from(" ", environ={"ANTHROPIC_API_KEY": KEY})
    with pytest.raises(ConfigError, match="no key for openai: set OPENAI_API_KEY, or put it into"):
        model_from("openai:gpt-5", environ={})


@pytest.mark.parametrize(
    ("spec", "environ"),
    [
        ("ollama:qwen3", {}),
        ("vllm:qwen3", {"VLLM_BASE_URL": "http://10.0.0.7:8000/v1"}),
        ("openai:any", {"OPENAI_BASE_URL": "http://localhost:9/v1"}),
        ("anthropic:any", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}),
        ("deepseek:any", {"DEEPSEEK_BASE_URL": "http://[::1]:9"}),
    ],
)
def test_servers_of_this_machine_need_no_key(spec: str, environ: dict[str, str]) -> None:
    assert model_from(spec, environ=environ).route.model


def test_an_address_elsewhere_needs_the_key() -> None:
    with pytest.raises(ConfigError, match="no key for openai"):
        model_from("openai:any", environ={"OPENAI_BASE_URL": "https://gateway.example/v1"})


@pytest.mark.parametrize(
    "url", ["api.openai.com", "ftp://x/v1", "https:///v1", "http://[::1", "http://h:99999/", "/etc"]
)
def test_an_address_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="the base URL of a model is http") as told:
        model_from("openai:x", chosen=Chosen(base_url=url), environ={"OPENAI_API_KEY": KEY})
    assert url not in str(told.value)


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(ConfigError, match="holds a password") as told:
        model_from("ollama:x", chosen=Chosen(base_url="http://me:hidden@h/v1"), environ={})
    assert "hidden" not in str(told.value)


def write(home: Path, text: str, mode: int = 0o600) -> Path:
    path = home / "credentials.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def revealed(home: Path, environ: dict[str, str] | None = None) -> str | None:
    found = key_for("deepseek", "DEEPSEEK_API_KEY", environ or {}, home)
    return found.reveal() if found else None


def test_a_key_comes_from_the_environment_before_the_file(tmp_path: Path) -> None:
    write(tmp_path, f'[deepseek]\nkey = "{KEY}"\n')
    assert revealed(tmp_path) == KEY
    assert revealed(tmp_path, {"DEEPSEEK_API_KEY": "  sk-other  "}) == "sk-other"
    assert revealed(tmp_path, {"DEEPSEEK_API_KEY": "  "}) == KEY


def test_no_file_and_no_section_are_no_key(tmp_path: Path) -> None:
    assert revealed(tmp_path) is None
    assert revealed(tmp_path / "absent" / "deeper") is None
    write(tmp_path, '[openai]\nkey = "x"\n')
    assert revealed(tmp_path) is None
    write(tmp_path, 'deepseek = "x"\n')
    assert revealed(tmp_path) is None
    assert key_for("ollama", "", {}, None) is None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path, f'[deepseek]\nkey = "{KEY}"\n', mode)
    with pytest.raises(ConfigError, match="others may read your keys; run: chmod 600") as told:
        revealed(tmp_path)
    assert str(path) in str(told.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"[deepseek\nkey = {KEY}", "not TOML"),
        (f"[deepseek]\nkey = {KEY}", "not TOML"),
        ("[deepseek]\nkey = 7", "deepseek.key is a text in quotes"),
        ('[deepseek]\nkey = " "', "deepseek.key is a text in quotes"),
        (f'[deepseek]\nkey = "{KEY} x"', "spaces or characters that no key has"),
        (f'[deepseek]\nkey = "{KEY}\\u00fc"', "spaces or characters that no key has"),
        ("#" * 2_000_000, "is no small file"),
    ],
)
def test_a_file_that_cannot_be_used_says_so_without_its_keys(
    tmp_path: Path, text: str, says: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=says) as told:
        revealed(tmp_path)
    assert KEY not in str(told.value)
    assert told.value.__cause__ is None


def test_neither_links_nor_pipes_are_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(f'[deepseek]\nkey = "{KEY}"\n')
    path = tmp_path / "credentials.toml"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="cannot be read"):
        revealed(tmp_path)
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(ConfigError, match="is no small file"):
        revealed(tmp_path)


def test_a_key_in_the_environment_that_no_header_carries_is_refused() -> None:
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY has spaces or characters") as told:
        key_for("deepseek", "DEEPSEEK_API_KEY", {"DEEPSEEK_API_KEY": f"{KEY}\r\nx: y"}, None)
    assert KEY not in str(told.value)


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError, match="not written down"):
        pickle.dumps(secret)


def test_a_model_does_not_show_its_key() -> None:
    model = model_from("deepseek:x", environ={"DEEPSEEK_API_KEY": KEY})
    assert KEY not in repr(model)
    assert KEY not in repr(model.route)


def test_the_tables_load_no_sdk() -> None:
    code = (
        "import sys, slicetape.models.routes as routes;"
        "routes.model_from('ollama:x', environ={});"
        "print([m for m in ('openai', 'anthropic', 'httpx2', 'httpx') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
