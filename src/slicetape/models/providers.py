"""The providers there are and what is known of their models, as tables.

Facts of models are those of the providers' public pages of late 2026. Names are matched by their
beginnings, the longest one counts. What a table does not say stays unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from slicetape.wire.openai_chat import DEEPSEEK, OPENAI, Dialect

GENERIC = Dialect(name="generic")
"""A server of the chat wire of which nothing more is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """How a provider is reached.

    `key` and `base` name environment variables, `url` is the address without them. Without `key`
    none is needed. Without a `dialect` it speaks the Messages wire.
    """

    name: str
    key: str = ""
    base: str
    url: str
    dialect: Dialect | None = None

    @property
    def wire(self) -> Literal["chat", "messages"]:
        """The family of its wire."""
        return "messages" if self.dialect is None else "chat"


_ROWS = (
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
        dialect=Dialect(name="openrouter"),
    ),
    Provider(
        name="ollama", base="OLLAMA_BASE_URL", url="http://127.0.0.1:11434/v1", dialect=GENERIC
    ),
    Provider(
        name="llamacpp", base="LLAMACPP_BASE_URL", url="http://127.0.0.1:8080/v1", dialect=GENERIC
    ),
    Provider(name="vllm", base="VLLM_BASE_URL", url="http://127.0.0.1:8000/v1", dialect=GENERIC),
)
PROVIDERS: Mapping[str, Provider] = {row.name: row for row in _ROWS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Facts about the models whose name begins with `prefix`.

    `window` and `most` (of one answer) are tokens, `sheet` the id of a price sheet.
    """

    provider: str = ""
    prefix: str = ""
    window: int | None = None
    most: int | None = None
    efforts: tuple[str, ...] | None = None
    default: str | None = None
    sheet: str | None = None


_UNKNOWN = Known()
_ORDINARY = ("low", "medium", "high")
_WIDE = (*_ORDINARY, "xhigh")


def _deepseek(prefix: str, sheet: str) -> Known:
    return Known(
        provider="deepseek",
        prefix=prefix,
        window=1_000_000,
        most=256_000,
        efforts=("off", "low", "high", "max"),
        default="high",
        sheet=sheet,
    )


def _claude(
    prefix: str, minimum: int, *, window: int, most: int, efforts: tuple[str, ...] = ()
) -> Known:
    return Known(
        provider="anthropic",
        prefix=f"claude-{prefix}",
        window=window,
        most=most,
        efforts=efforts,
        sheet=f"anthropic-5m-{minimum}",
    )


def _openai(
    prefix: str, window: int | None, most: int, efforts: tuple[str, ...], *, later: bool = False
) -> Known:
    return Known(
        provider="openai",
        prefix=prefix,
        window=window,
        most=most,
        efforts=efforts,
        sheet="openai-5.6" if later else "openai-before-5.6",
    )


_MILLION = 1_000_000
_SWITCHED = ("off", *_ORDINARY, "max")
KNOWN = (
    _deepseek("", "v41-flash-20260910-offpeak"),
    _deepseek("deepseek-v4-flash", "v4-flash-20260816-offpeak"),
    _deepseek("deepseek-v4-pro", "v4-pro-0813-offpeak"),
    _claude("opus-5", 512, window=_MILLION, most=128_000, efforts=(*_WIDE, "max")),
    _claude("fable-5", 512, window=_MILLION, most=128_000, efforts=(*_WIDE, "max")),
    _claude("mythos-5", 512, window=_MILLION, most=128_000, efforts=(*_WIDE, "max")),
    _claude("sonnet-5", 1_024, window=_MILLION, most=128_000, efforts=(*_WIDE, "max")),
    _claude("opus-4-8", 1_024, window=_MILLION, most=128_000, efforts=_SWITCHED),
    _claude("opus-4-7", 2_048, window=_MILLION, most=128_000, efforts=_SWITCHED),
    _claude("opus-4-6", 4_096, window=200_000, most=128_000, efforts=_SWITCHED),
    _claude("sonnet-4-6", 1_024, window=200_000, most=64_000, efforts=("off", *_ORDINARY)),
    _claude("opus-4-5", 4_096, window=200_000, most=64_000),
    _claude("haiku-4-5", 4_096, window=200_000, most=64_000),
    _claude("sonnet-4", 1_024, window=200_000, most=64_000),
    _claude("opus-4", 1_024, window=200_000, most=32_000),
    _openai("gpt-4o", 128_000, 16_384, ()),
    _openai("gpt-4.1", 1_047_576, 32_768, ()),
    _openai("o1", 200_000, 100_000, _ORDINARY),
    _openai("o3", 200_000, 100_000, _ORDINARY),
    _openai("o4", 200_000, 100_000, _ORDINARY),
    _openai("gpt-5", 400_000, 128_000, _ORDINARY),
    _openai("gpt-5.2", 400_000, 128_000, _WIDE),
    _openai("gpt-5.4", 1_050_000, 128_000, _WIDE),
    _openai("gpt-5.4-mini", 400_000, 128_000, _WIDE),
    _openai("gpt-5.4-nano", 400_000, 128_000, _WIDE),
    _openai("gpt-5.5", 1_050_000, 128_000, _WIDE),
    _openai("gpt-5.6", 1_050_000, 128_000, (*_WIDE, "max"), later=True),
    _openai("gpt-5.6-luna", 400_000, 128_000, (*_WIDE, "max"), later=True),
    _openai("gpt-6", None, 128_000, (*_WIDE, "max"), later=True),
)


def known(provider: str, model: str) -> Known:
    """What is known of a model; every fact None when nothing is."""
    rows = [row for row in KNOWN if row.provider == provider and model.startswith(row.prefix)]
    return max(rows, key=lambda row: len(row.prefix), default=_UNKNOWN)
