"""`provider:model` to a model that can be asked: providers, and what is known of models.

What a table does not know stays unknown: an unknown model has no window, no effort and no prices,
and is asked all the same.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slicetape.errors import ConfigError
from slicetape.loop.protocols import Model, Route
from slicetape.models.keys import Secret, key_for
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.openai_chat import DEEPSEEK, OPENAI, ChatWire, Dialect
from slicetape.wire.pictures import Pictures, no_pictures

GENERIC = Dialect(name="generic")
"""A server of the chat wire of which nothing more is known."""

_OPENROUTER = Dialect(name="openrouter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """How a provider is reached. Without `key` none is needed."""

    name: str
    key: str = ""
    base: str = ""
    url: str
    dialect: Dialect | None = None

    @property
    def wire(self) -> Literal["chat", "messages"]:
        """The family of its wire."""
        return "messages" if self.dialect is None else "chat"


PROVIDERS: Mapping[str, Provider] = {
    row.name: row
    for row in (
        Provider(
            name="deepseek",
            key="DEEPSEEK_API_KEY",
            base="DEEPSEEK_BASE_URL",
            url="https://api.deepseek.com",
            dialect=DEEPSEEK,
        ),
        Provider(
            name="openai",
            key="OPENAI_API_KEY",
            base="OPENAI_BASE_URL",
            url="https://api.openai.com/v1",
            dialect=OPENAI,
        ),
        Provider(
            name="anthropic",
            key="ANTHROPIC_API_KEY",
            base="ANTHROPIC_BASE_URL",
            url="https://api.anthropic.com",
        ),
        Provider(
            name="openrouter",
            key="OPENROUTER_API_KEY",
            base="OPENROUTER_BASE_URL",
            url="https://openrouter.ai/api/v1",
            dialect=_OPENROUTER,
        ),
        Provider(
            name="ollama",
            base="OLLAMA_BASE_URL",
            url="http://127.0.0.1:11434/v1",
            dialect=GENERIC,
        ),
        Provider(
            name="llamacpp",
            base="LLAMACPP_BASE_URL",
            url="http://127.0.0.1:8080/v1",
            dialect=GENERIC,
        ),
        Provider(
            name="vllm", base="VLLM_BASE_URL", url="http://127.0.0.1:8000/v1", dialect=GENERIC
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Facts about the models whose name begins with `prefix`; the longest prefix counts."""

    provider: str
    prefix: str
    window: int | None = None
    most: int | None = None
    efforts: tuple[str, ...] | None = None
    default: str | None = None
    sheet: str | None = None


_ALL = ("off", "low", "high", "max")


def _deepseek(prefix: str, sheet: str) -> Known:
    return Known(
        provider="deepseek",
        prefix=prefix,
        window=1_000_000,
        most=256_000,
        efforts=_ALL,
        default="high",
        sheet=sheet,
    )


def _claude(prefix: str, minimum: int, most: int = 32_000) -> Known:
    sheet = f"anthropic-5m-{minimum}"
    return Known(provider="anthropic", prefix=prefix, window=200_000, most=most, sheet=sheet)


def _openai(prefix: str, window: int, most: int, efforts: tuple[str, ...] = ()) -> Known:
    sheet = "openai-before-5.6"
    return Known(
        provider="openai", prefix=prefix, window=window, most=most, efforts=efforts, sheet=sheet
    )


KNOWN = (
    _deepseek("", "v41-flash-20260910-offpeak"),
    _deepseek("deepseek-v4-flash", "v4-flash-20260816-offpeak"),
    _deepseek("deepseek-v4-pro", "v4-pro-0813-offpeak"),
    _claude("", 1_024),
    _claude("claude-opus-5", 512),
    _claude("claude-opus-4-7", 2_048),
    _claude("claude-opus-4-6", 4_096),
    _claude("claude-opus-4-5", 4_096),
    _claude("claude-haiku-4-5", 4_096),
    _claude("claude-3-5-haiku", 2_048, 8_192),
    _openai("gpt-4o", 128_000, 16_384),
    _openai("gpt-4.1", 1_047_576, 32_768),
    _openai("gpt-5", 400_000, 128_000, ("low", "high")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a person set about the model; None leaves it to the tables."""

    base_url: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None


def parse(spec: str | None) -> tuple[Provider, str]:
    """Provider and model that `provider:model` names. ConfigError says what to write."""
    if not spec:
        raise ConfigError(_nothing_chosen(os.environ))
    name, colon, model = spec.partition(":")
    if not colon or not model.strip():
        known = ", ".join(f"{row}:…" for row in PROVIDERS)
        raise ConfigError(f"the model {spec[:80]!r} names no provider; write one of {known}")
    provider = PROVIDERS.get(name.strip().lower())
    if provider is None:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), PROVIDERS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PROVIDERS)}"
        raise ConfigError(f"no provider {name[:40]!r}; {hint}")
    return provider, model.strip()


def route_of(
    provider: Provider,
    model: str,
    *,
    chosen: Chosen | None = None,
    pictures: Pictures = no_pictures,
) -> Route:
    """The route to a model, with what is known of it."""
    chosen, known = chosen or Chosen(), _known(provider.name, model)
    dialect = provider.dialect
    return Route(
        provider=provider.name,
        model=model,
        wire=MessagesWire(pictures) if dialect is None else ChatWire(dialect, pictures),
        context_window=chosen.context_window or known.window,
        max_tokens=chosen.max_tokens or known.most or (8_192 if dialect is None else None),
        efforts=known.efforts,
        default_effort=known.default,
        sheet=known.sheet,
    )


def model_from(
    spec: str | None,
    *,
    chosen: Chosen | None = None,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    pictures: Pictures = no_pictures,
) -> Model:
    """The model that `spec` names, ready to be asked; nothing is sent and no SDK loaded yet.

    ConfigError when no model or key is there, with what to set.
    """
    environ = os.environ if environ is None else environ
    if not spec:
        raise ConfigError(_nothing_chosen(environ))
    provider, model = parse(spec)
    key = key_for(provider.name, provider.key, environ, home)
    if key is None and provider.key:
        raise ConfigError(
            f"no key for {provider.name}: set {provider.key}, or put it into credentials.toml "
            "(mode 0600) in the home folder of slicetape"
        )
    url = (chosen.base_url if chosen else None) or environ.get(provider.base) or provider.url
    route = route_of(provider, model, chosen=chosen, pictures=pictures)
    if provider.wire == "messages":
        from slicetape.models.anthropic_messages import AnthropicModel

        return AnthropicModel(route, url=url, key=key or Secret(""))
    from slicetape.models.openai_chat import ChatModel

    return ChatModel(route, url=url, key=key or Secret("none"))


def _known(provider: str, model: str) -> Known:
    rows = [row for row in KNOWN if row.provider == provider and model.startswith(row.prefix)]
    return max(rows, key=lambda row: len(row.prefix), default=Known(provider=provider, prefix=""))


def _nothing_chosen(environ: Mapping[str, str]) -> str:
    with_key = [row.name for row in PROVIDERS.values() if row.key and environ.get(row.key)]
    if with_key:
        return f"choose a model: --model {with_key[0]}:MODEL, or model.name in slicetape.toml"
    return (
        "no model is chosen and no key is set: give --model deepseek:MODEL and set "
        "DEEPSEEK_API_KEY (openai: OPENAI_API_KEY, anthropic: ANTHROPIC_API_KEY)"
    )
