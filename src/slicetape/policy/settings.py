"""What a user may decide about a session: frozen values with the product's defaults.

Names are the snake_case form of the configuration keys (`history.keepRecentTurns` is
`Settings.history.keep_recent_turns`). Values built here are trusted; `slicetape.config` checks
what comes from files and keywords and is the only place that explains a bad value.
Sizes are code points unless a name says bytes; `math.inf` means no bound where it is legal.
"""

from dataclasses import dataclass, field
from typing import Literal

Effort = Literal["off", "low", "high", "max", "inherit"]
Compression = Literal["none", "zstd"]
Permission = Literal["ask", "workspace", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings:
    """How finished turns are sealed.

    `keep_recent_turns` finished turns stay raw. `entry_max_chars` caps one entry (None: no cap,
    otherwise at least 256 so that locators stay complete). `seal_only_if_shorter` leaves a run
    of nodes raw when its entry would not be shorter than what it replaces.
    """

    keep_recent_turns: int = 0
    entry_max_chars: int | None = None
    seal_only_if_shorter: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldSettings:
    """When tool results are folded as they enter, and when folding stops.

    Results of the first `pin_steps` steps of a turn stay whole below `pin_max_chars`; outputs of
    at least `spill_preview_min_bytes` bytes are spilled (0: never); a resource is no longer folded
    when `backoff_after_expansions` of its views, and half of them, were fetched whole.
    """

    enabled: bool = True
    pin_steps: int = 0
    pin_max_chars: float = 8000
    spill_preview_min_bytes: float = 50_000
    backoff_after_expansions: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestSettings:
    """How much a view keeps of a result, by kind of text."""

    enabled: bool = True
    min_chars: int = 2500
    log_min_chars: int = 512
    head_lines: int = 10
    tail_lines: int = 4
    max_keep_ratio: float = 0.9
    structured_block_cap: float = 12
    structured_block_min: int = 0
    log_max_errors: int = 10
    log_context_lines: int = 3
    max_line_chars: float = 1500
    line_head_chars: int = 700
    line_tail_chars: int = 300
    json_min_items: float = 5
    json_keep_items: float = 15
    search_min_matches: float = 20
    search_min_chars: float = 2500
    search_max_per_file: float = 3
    search_max_total: float = 30
    diff_min_lines: float = 50
    diff_context_lines: float = 2
    diff_max_hunks_per_file: float = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """How the log is written: `compression` "none" is one plain line an event."""

    compression: Compression = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSettings:
    """When the model's window is full: `compaction` runs the host's beside the tape."""

    compaction: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Which model an agent asks: `name` as `provider:model`, None until somebody chooses.

    What is None is taken from what is known of the model. Sizes are tokens.
    """

    name: str | None = None
    base_url: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """What an agent may do. `permission` None is `ask` in a chat and `workspace` in a run."""

    permission: Permission | None = None
    sandbox: bool = False
    bash_timeout_ms: int = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that may be configured. `Settings()` is the product as shipped.

    `max_steps_per_turn` None means no limit. `default_reasoning_effort` "inherit" leaves the
    effort to the host.
    """

    mode: Literal["slice"] = "slice"
    max_steps_per_turn: int | None = None
    default_reasoning_effort: Effort = "inherit"
    history: HistorySettings = field(default_factory=HistorySettings)
    log: LogSettings = field(default_factory=LogSettings)
    window: WindowSettings = field(default_factory=WindowSettings)
    fold: FoldSettings = field(default_factory=FoldSettings)
    digest: DigestSettings = field(default_factory=DigestSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
