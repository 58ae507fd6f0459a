"""The part of `slicetape replay --peers`: other libraries on the same requests, and their table."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from slicetape.cli.columns import Row, beside
from slicetape.cli.replay_bar import ReplayBar
from slicetape.cli.text import one_line, wrapped
from slicetape.prices.families import counter_for_model
from slicetape.prices.tokens import counter
from slicetape.replay.counting import Counts
from slicetape.replay.peers.figures import Options as PeerOptions
from slicetape.replay.peers.peers import Lineup
from slicetape.replay.peers.pins import all_peers
from slicetape.replay.peers.rows import PeerRow, PeerSession, total_rows
from slicetape.replay.recording import Recording
from slicetape.replay.replay import Options, setting_of
from slicetape.replay.report import Report


class ReportWithPeers(Report, frozen=True, kw_only=True):
    """A report, and other libraries on the requests of its sessions."""

    peers: tuple[PeerSession, ...]
    peers_total: tuple[PeerRow, ...]


class Peers:
    """Compares session after session while a replay runs; without a lineup it does nothing."""

    def __init__(self, options: Options, lineup: Lineup | None) -> None:
        self.sessions: list[PeerSession] = []
        self._options = options
        self._lineup = lineup

    def take(self, recording: Recording) -> None:
        """Measure one session."""
        if self._lineup is not None:
            options = peer_options(recording, self._options)
            self.sessions.append(self._lineup.compare(recording, options))

    def added_to(self, report: Report) -> Report:
        """The report with what was measured."""
        if self._lineup is None:
            return report
        fields = {name: getattr(report, name) for name in report.__struct_fields__}
        found = tuple(self.sessions)
        return ReportWithPeers(**fields, peers=found, peers_total=total_rows(found))


def lineup(bar: ReplayBar, *, wanted: bool) -> AbstractContextManager[Lineup | None]:
    """Every peer, when they are wanted; environments that are missing are made on the way."""
    return Lineup(tell=bar.working) if wanted else nullcontext()


def peer_options(recording: Recording, options: Options) -> PeerOptions:
    """The sheets and heads of a replay, for its comparison with peers."""
    name = options.tokenizer or counter_for_model(recording.facts.model)[0]
    setting = setting_of(recording, options, Counts(counter(name).count))
    return PeerOptions(
        sheets=options.sheets,
        head=setting.head,
        system=options.head != 0,
        recall_head=setting.recall_head,
        window=setting.window,
        ttl=options.ttl,
        tokenizer=options.tokenizer,
    )


def peer_lines(sessions: Sequence[PeerSession], prices: Sequence[str], width: int) -> Iterator[str]:
    """The tables of peers, one a session and one over all, and what they mean."""
    for session in sessions:
        yield f"{one_line(session.id, 60)} under other libraries, relative to transcript"
        yield from _rows(session.rows, prices, width)
        yield ""
    if len(sessions) > 1:
        yield f"all {len(sessions)} sessions under other libraries, relative to transcript"
        yield from _rows(total_rows(sessions), prices, width)
        yield ""
    pins = ", ".join(package for peer in all_peers() for package in peer.packages)
    for note in _NOTES.format(pins).split("\n"):
        yield from wrapped(note, width)


_NOTES = """\
Other libraries are driven as their documents say, at {}.
breaks: requests that change bytes already sent. ms: their own work before a request, median. \
errors, warnings, failures: lines of results that are shown when the result is first sent; \
sources, whole: results shown whole. visible: of the rare words that the model went on to use, \
those that were in the request."""


def _rows(rows: Sequence[PeerRow], prices: Sequence[str], width: int) -> Iterator[str]:
    costs: list[Row] = [["peer", "requests", "last", *prices, "breaks", "ms"]]
    shown: list[Row] = [["peer", *_KINDS.values(), "visible", "of tools"]]
    for row in rows:
        if row.state == "measured":
            costs.append(_cost_row(row, prices))
            shown.append(_shown_row(row))
    yield from beside(costs, shown, width)
    for row in rows:
        for line in _wrong(row):
            yield from (f"  {part}" for part in wrapped(line, width - 2))


_KINDS = {
    "errors": "errors",
    "warnings": "warnings",
    "failures": "failures",
    "sources": "sources",
    "results": "whole",
}


def _cost_row(row: PeerRow, prices: Sequence[str]) -> Row:
    return [
        row.name,
        str(row.requests),
        f"{row.last_share:.0%}" if row.last_share else "-",
        *(f"{row.vs_transcript[id]:.3f}" for id in prices),
        str(row.prefix_breaks),
        f"{row.ms.median:.1f}" if row.ms and not row.ours else "-",
    ]


def _shown_row(row: PeerRow) -> Row:
    counts = (row.fidelity.get(kind) for kind in _KINDS)
    found = row.evidence
    return [
        row.name,
        *(f"{count.shown}/{count.of}" if count else "-" for count in counts),
        _ratio(found.visible if found else None),
        _ratio(found.visible_tool if found else None),
    ]


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{int(value * 1_000) / 1_000:.3f}"


def _wrong(row: PeerRow) -> Iterator[str]:
    if row.state != "measured":
        yield f"{row.name} is {row.state}: {one_line(row.reason or '', 600)}"
    elif row.failed_requests:
        yield (
            f"{row.name} failed on {row.failed_requests} of {row.requests} requests, which were "
            f"sent as they came: {one_line(row.first_failure or '', 300)}"
        )
