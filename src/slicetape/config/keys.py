"""Every key there is, what it takes, and what took the place of the retired ones."""

from dataclasses import dataclass

from slicetape.config.checks import Check, choice, entry_cap, flag, integer, number, text

ROW = "slice-agent-loop"

TOP_LEVEL: tuple[str, ...] = (
    "maxStepsPerTurn",
    "defaultReasoningEffort",
    "digest",
    "fold",
    "history",
    "log",
    "window",
    "model",
    "tools",
    "mode",
)

RETIRED: dict[str, str] = {
    "maxRequestChars": "requests have no ceiling any more and entries accumulate; "
    "remove the key and configure window handling in the host",
    "maxHistoryChars": "a cap on the whole history would rewrite entries, "
    "which this policy exists to avoid; remove the key",
    "maxParallelToolCalls": "scheduling tool calls belongs to the row of the stock agent loop; "
    "move the key there",
    "inTurnSeal": "it went with the replacement driver; remove the key",
    "tape": "file-base options went with the replacement driver; remove the key",
    "state": "the state and stream experiments are retired; remove the key",
}

RETIRED_HISTORY: dict[str, str] = {
    "highWaterChars": "every completed turn is sealed, there is no pressure threshold; "
    "remove the key",
    "lowWaterChars": "every completed turn is sealed, there is no target to fall back to; "
    "remove the key",
    "keepRecentChars": "use history.keepRecentTurns, which counts turns",
    "checkpointMaxChars": "renamed history.entryMaxChars",
    "pinFirstTurn": "all human messages stay at their original nodes; remove the key",
    "pinUserChars": "human messages are neither excerpted nor copied into entries; remove the key",
}

_TOKENS = "model.{} must be a number of tokens, at least 1"
_EFFORTS = ("off", "low", "high", "max", "inherit")


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a file: its spelling there and what it takes."""

    name: str
    check: Check

    @property
    def attribute(self) -> str:
        """Its name in `Settings` and as a keyword."""
        return snake(self.name)


def snake(name: str) -> str:
    """`keepRecentTurns` as `keep_recent_turns`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def _digest_whole(*names: str, at_least: int = 0) -> tuple[Key, ...]:
    what = "a non-negative integer" if at_least == 0 else f"an integer >= {at_least}"
    return tuple(Key(n, integer(f"digest.{n} must be {what}", at_least=at_least)) for n in names)


def _digest_number(*names: str) -> tuple[Key, ...]:
    return tuple(Key(n, number(f"digest.{n} must be >= 0")) for n in names)


ROOT_KEYS: tuple[Key, ...] = (
    Key(
        "mode",
        choice(
            "Only mode slice is supported; the state and stream experiments are retired. "
            "Remove mode",
            "slice",
        ),
    ),
    Key(
        "maxStepsPerTurn",
        integer("maxStepsPerTurn must be a positive safe integer", at_least=1),
    ),
    Key(
        "defaultReasoningEffort",
        choice(f"Invalid defaultReasoningEffort; use one of {', '.join(_EFFORTS)}", *_EFFORTS),
    ),
)

SECTIONS: dict[str, tuple[Key, ...]] = {
    "history": (
        Key(
            "keepRecentTurns",
            integer("history.keepRecentTurns must be a non-negative safe integer"),
        ),
        Key("entryMaxChars", entry_cap),
        Key("sealOnlyIfShorter", flag("history.sealOnlyIfShorter must be true or false")),
    ),
    "log": (Key("compression", choice("log.compression must be none or zstd", "none", "zstd")),),
    "window": (Key("compaction", flag("window.compaction must be true or false")),),
    "model": (
        Key("name", text("model.name must be a text such as deepseek:deepseek-chat")),
        Key("baseUrl", text("model.baseUrl must be the address of a server")),
        Key("contextWindow", integer(_TOKENS.format("contextWindow"), at_least=1)),
        Key("maxTokens", integer(_TOKENS.format("maxTokens"), at_least=1)),
        Key("temperature", number("model.temperature must be from 0 to 2", at_most=2)),
    ),
    "tools": (
        Key(
            "permission",
            choice("tools.permission must be ask, workspace or all", "ask", "workspace", "all"),
        ),
        Key("sandbox", flag("tools.sandbox must be true or false")),
        Key(
            "bashTimeoutMs",
            integer("tools.bashTimeoutMs must be an integer >= 1000", at_least=1_000),
        ),
    ),
    "fold": (
        Key("enabled", flag("fold.enabled must be true or false")),
        Key("pinSteps", integer("fold.pinSteps must be a non-negative integer")),
        Key("pinMaxChars", number("fold.pinMaxChars must be >= 0")),
        Key("spillPreviewMinBytes", number("fold.spillPreviewMinBytes must be >= 0")),
        Key(
            "backoffAfterExpansions",
            integer("fold.backoffAfterExpansions must be an integer >= 1", at_least=1),
        ),
    ),
    "digest": (
        Key("enabled", flag("digest.enabled must be true or false")),
        *_digest_whole("minChars", "logMinChars", "headLines", "tailLines"),
        Key(
            "maxKeepRatio",
            number("digest.maxKeepRatio must be in (0, 1]", above=0, at_most=1),
        ),
        Key("structuredBlockCap", number("digest.structuredBlockCap must be >= 1", at_least=1)),
        *_digest_whole("structuredBlockMin"),
        *_digest_whole("logMaxErrors", at_least=1),
        *_digest_whole("logContextLines"),
        Key("maxLineChars", number("digest.maxLineChars must be > 0", above=0)),
        *_digest_whole("lineHeadChars", "lineTailChars"),
        *_digest_number("jsonMinItems", "jsonKeepItems"),
        *_digest_number("searchMinMatches", "searchMinChars", "searchMaxPerFile", "searchMaxTotal"),
        *_digest_number("diffMinLines", "diffContextLines", "diffMaxHunksPerFile"),
    ),
}

# Legal values that older releases had as defaults and profiles still spell out.
OLD_DEFAULTS: dict[str, object] = {
    "maxStepsPerTurn": 50,
    "defaultReasoningEffort": "low",
    "fold.pinSteps": 2,
    "history.entryMaxChars": 8000,
}
