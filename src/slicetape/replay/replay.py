"""Replay: sessions under several arms and price sheets, to one report."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from slicetape.errors import PriceError
from slicetape.formats.detect import open_sessions
from slicetape.prices.families import counter_for_model
from slicetape.prices.sheet import Sheet, sheet
from slicetape.prices.tokens import counter
from slicetape.recall.tools import Recall
from slicetape.replay.arms import DEFAULT_ARMS, Arm, arms
from slicetape.replay.counting import Counts
from slicetape.replay.evidence.measure import Measure
from slicetape.replay.nodes import Nodes
from slicetape.replay.pricing import bills
from slicetape.replay.recording import Recording, record
from slicetape.replay.recoverable import Reader, recover
from slicetape.replay.report import (
    VERSION,
    Report,
    SessionReport,
    arm_report,
    recorded_report,
)
from slicetape.replay.run import Setting, run
from slicetape.replay.totals import totals
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.lint import CHAT, MESSAGES
from slicetape.wire.openai_chat import ChatWire

HEAD = 4_000
"""Tokens that system prompt and tool schemas are taken for where none were recorded."""

RECALL_HEAD = 840
"""Tokens that recall schemas and teaching text are taken for, in arms that carry them.

It is what they measure under `o200k`, rounded up to a ten.
"""

WINDOW = 200_000
"""The window of a model whose window was not recorded."""

DEFAULT_SHEETS = ("rel-30", "rel-10", "rel-none")

Progress = Callable[[Recording, str], None]
"""Told what runs, a recording and the name of an arm, once a recorded reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How sessions are replayed.

    `head` None takes what was recorded, else the constant; 0 leaves prompts and schemas out.
    `window` overrides recorded windows. `ttl` lets cache entries expire by recorded times.
    `tokenizer` None chooses a counter by the recorded model. `explain` lists the worst of what
    each arm hid.
    """

    arms: tuple[Arm, ...] = field(default_factory=lambda: arms(",".join(DEFAULT_ARMS)))
    sheets: tuple[Sheet, ...] = field(
        default_factory=lambda: tuple(sheet(id) for id in DEFAULT_SHEETS)
    )
    head: int | None = None
    window: int | None = None
    ttl: bool = False
    tokenizer: str | None = None
    explain: bool = False


def recordings(path: str | Path, *, format: str | None = None) -> Iterator[Recording]:
    """The sessions of one transcript or log file."""
    for session in open_sessions(path, format=format):
        yield record(session.id, session.format, session.header, session.events, session.notes)


def replay(
    sessions: Iterable[Recording],
    options: Options | None = None,
    *,
    progress: Progress = lambda _session, _arm: None,
) -> Report:
    """Every session under every arm."""
    options = options or Options()
    return report_of([replay_session(one, options, progress=progress) for one in sessions], options)


def report_of(sessions: Iterable[SessionReport], options: Options) -> Report:
    """The report of sessions that were replayed with `options`."""
    found = tuple(sessions)
    return Report(
        version=VERSION,
        prices=tuple(row.id for row in options.sheets),
        head=_head_text(options.head),
        sessions=found,
        total=totals(found),
    )


def replay_session(
    recording: Recording,
    options: Options,
    *,
    progress: Progress = lambda _session, _arm: None,
) -> SessionReport:
    """One session under every arm."""
    facts = recording.facts
    name = options.tokenizer or counter_for_model(facts.model)[0]
    nodes = nodes_of(recording, options, Counts(counter(name).count))
    measure = Measure(recording, nodes)
    setting = replace(setting_of(recording, options, nodes.counts), references=measure.references)
    reports = {}
    for arm in options.arms:
        tick = partial(progress, recording, arm.name)
        done = run(recording, arm, nodes, setting, tick=tick)
        recall = Recall.of(done.session.view)
        reader = Reader.of(recall)
        views = done.views
        recovery = (
            recover(recall, done.entries, views=views, reader=reader) if arm.recalls else None
        )
        priced = bills(done.sent, options.sheets, ttl=options.ttl)
        found = measure.findings(done, priced, reader=reader, explain=options.explain)
        reports[arm.name] = arm_report(done, priced, recovery, found)
    return SessionReport(
        id=recording.id,
        format=recording.format,
        model=facts.model,
        tokenizer=name,
        wire="anthropic-messages" if facts.signed else "openai-chat",
        turns=facts.turns,
        steps=facts.steps,
        tool_calls=facts.tool_calls,
        tool_errors=facts.tool_errors,
        images=facts.images,
        head_tokens=setting.head,
        window=setting.window,
        arms=reports,
        recorded=recorded_report(facts.usage, options.sheets),
        compacted=facts.compacted,
        notes=recording.notes,
    )


def chosen_sheets(text: str) -> tuple[Sheet, ...]:
    """The sheets of a list with commas. PriceError when one is unknown or none is named."""
    found = tuple(
        sheet(name) for name in dict.fromkeys(part.strip() for part in text.split(",")) if name
    )
    if not found:
        raise PriceError(f"no price sheet named; the default is {','.join(DEFAULT_SHEETS)}")
    return found


def nodes_of(recording: Recording, options: Options, counts: Counts) -> Nodes:
    """The nodes of a recording on the wire that carries them: signed reasoning needs Messages."""
    wire = MessagesWire() if recording.facts.signed else ChatWire()
    return Nodes(counts, wire, system=options.head != 0)


def setting_of(recording: Recording, options: Options, counts: Counts) -> Setting:
    """The rules, heads and window that a recording is replayed with.

    Calls without reasoning are no error here: what was recorded without it was accepted so.
    """
    facts = recording.facts
    recorded = counts.text(facts.tools.decode("utf-8", "replace")) if options.head != 0 else 0
    constant = HEAD if options.head is None else options.head
    return Setting(
        rules=MESSAGES if facts.signed else CHAT,
        head=recorded if recorded or facts.has_system else constant,
        recall_head=0 if options.head == 0 else RECALL_HEAD,
        window=options.window or facts.window or WINDOW,
    )


def _head_text(head: int | None) -> str:
    if head == 0:
        return "none: prompts, schemas and recall tools are left out"
    constant = HEAD if head is None else head
    return f"recorded, else {constant} tokens; arms with recall tools {RECALL_HEAD} more"
