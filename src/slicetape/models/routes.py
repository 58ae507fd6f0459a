"""`provider:model` to a model that can be asked. Nothing is chosen silently.

What the tables of `providers.py` do not know stays unknown: such a model is asked all the same.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from slicetape.errors import ConfigError
from slicetape.loop.protocols import Model, Route
from slicetape.models.keys import Secret, key_for
from slicetape.models.place import SILENCE_S, Place, checked_url, is_here
from slicetape.models.providers import PROVIDERS, Provider, known
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.openai_chat import ChatWire
from slicetape.wire.pictures import Pictures, no_pictures

NO_KEY = Secret("slicetape-needs-no-key")
"""What stands in the header for a server that asks for no key."""

_SDKS = {"chat": "openai", "messages": "anthropic"}
_MESSAGES_LIMIT = 32_000
"""The output limit of a Messages model of which nothing is known: that wire demands one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a person set about the model; None leaves it to the tables.

    `silence_s` is how many seconds may pass without a byte.
    """

    base_url: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None
    silence_s: float = field(default=SILENCE_S)


def parse(spec: str | None, environ: Mapping[str, str] | None = None) -> tuple[Provider, str]:
    """Provider and model that `provider:model` names. ConfigError says what to write."""
    if not spec or not spec.strip():
        raise ConfigError(_nothing_chosen(os.environ if environ is None else environ))
    name, colon, model = (part.strip() for part in spec.partition(":"))
    if not colon or not model:
        forms = ", ".join(f"{row}:…" for row in PROVIDERS)
        raise ConfigError(f"the model {_shown(spec)} names no provider; write one of {forms}")
    if len(model) > 200 or not model.isprintable():
        raise ConfigError(f"the model {_shown(spec)} is no name of a model")
    provider = PROVIDERS.get(name.lower())
    if provider is None:
        near = get_close_matches(name.lower()[:40], PROVIDERS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PROVIDERS)}"
        raise ConfigError(f"no provider {_shown(name)}; {hint}")
    return provider, model


def route_of(
    provider: Provider,
    model: str,
    *,
    chosen: Chosen | None = None,
    pictures: Pictures = no_pictures,
) -> Route:
    """The route to a model, with what is known of it."""
    chosen, facts = chosen or Chosen(), known(provider.name, model)
    dialect = provider.dialect
    least = _MESSAGES_LIMIT if dialect is None else None
    return Route(
        provider=provider.name,
        model=model,
        wire=MessagesWire(pictures) if dialect is None else ChatWire(dialect, pictures),
        context_window=chosen.context_window or facts.window,
        max_tokens=chosen.max_tokens or facts.most or least,
        efforts=facts.efforts,
        default_effort=facts.default,
        sheet=facts.sheet,
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

    Keys come from `environ` or from `credentials.toml` in `home`; a server on this machine needs
    none. ConfigError when no model or key is there, with what to set.
    """
    environ = os.environ if environ is None else environ
    chosen = chosen or Chosen()
    provider, model = parse(spec, environ)
    url = chosen.base_url or environ.get(provider.base, "").strip() or provider.url
    checked_url(url)
    key = key_for(provider.name, provider.key, environ, home)
    if key is None and provider.key and not is_here(url):
        raise ConfigError(
            f"no key for {provider.name}: set {provider.key}, or put it into credentials.toml "
            "(mode 0600) in the home folder of slicetape"
        )
    route = route_of(provider, model, chosen=chosen, pictures=pictures)
    sdk = _SDKS[provider.wire]
    place = Place(
        url=url,
        key=key or NO_KEY,
        sdk=sdk,
        own=sdk == provider.name,
        silence=chosen.silence_s,
    )
    if provider.wire == "messages":
        from slicetape.models.anthropic_messages import AnthropicModel

        return AnthropicModel(route, place)
    from slicetape.models.openai_chat import ChatModel

    return ChatModel(route, place)


def _shown(text: str) -> str:
    return ascii(text[:60]) if not text[:60].isprintable() else f'"{text[:60]}"'


def _nothing_chosen(environ: Mapping[str, str]) -> str:
    with_key = [row.name for row in PROVIDERS.values() if row.key and environ.get(row.key)]
    if with_key:
        return f"choose a model: --model {with_key[0]}:MODEL, or model.name in the settings"
    return (
        "no model is chosen and no key is set: give --model deepseek:MODEL and set "
        "DEEPSEEK_API_KEY (openai: OPENAI_API_KEY, anthropic: ANTHROPIC_API_KEY)"
    )
