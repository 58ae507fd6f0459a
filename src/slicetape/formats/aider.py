"""Aider chat histories: one Markdown file that grows over many chats.

A line is told by how it begins: `# aider chat started at` a chat, `#### ` what the user typed,
`> ` what the program printed; every other line is the model's reply. What was printed is kept as
a call, since it is what the model was answered. The files that were sent are not in it.
"""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from slicetape.formats.counts import Counts
from slicetape.formats.recorder import HUMAN, Answer, Recorder, plugin
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.values import epoch_ms, text
from slicetape.log.events import Event
from slicetape.log.messages import Text

FORMAT = "aider-md"
TOOL = "aider"
"""The name of the call that a run of printed lines is."""

_CHAT = "# aider chat started at"
_USER = "#### "
_PRINTED = "> "

Kind = Literal["chat", "user", "printed", "reply"]


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring lines of one kind, without their marks; `line` is where they begin, from 1.

    What the user typed is joined by line ends; printed and reply lines each keep theirs.
    """

    kind: Kind
    line: int
    text: str


def runs(lines: Iterable[bytes]) -> Iterator[Run]:
    """The runs of a history. A byte that is no UTF-8 becomes a lone surrogate."""
    kind: Kind | None = None
    held: list[str] = []
    start = 1
    for number, line in enumerate(lines, 1):
        words = line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").decode(
            "utf-8", "surrogateescape"
        )
        told = _kind(words)
        if told != kind or told == "chat":
            if kind is not None:
                yield Run(kind, start, _joined(kind, held))
            kind, held, start = told, [], number
        held.append(words)
    if kind is not None:
        yield Run(kind, start, _joined(kind, held))


def _kind(line: str) -> Kind:
    if line.startswith(_CHAT):
        return "chat"
    if line.startswith(_USER):
        return "user"
    return "printed" if line.startswith(_PRINTED) else "reply"


def _joined(kind: Kind, lines: list[str]) -> str:
    match kind:
        case "user":
            return (
                "".join(line[len(_USER) :] for line in lines).removesuffix("\n").removesuffix("\r")
            )
        case "printed":
            return "".join(line[len(_PRINTED) :] for line in lines)
        case "chat":
            return lines[0][len(_CHAT) :].strip()
        case "reply":
            return "".join(lines)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """One session of each chat in which the user typed something, numbered in their order."""
    number = 0
    for chat in _chats(runs(transcript.lines())):
        if not any(run.kind == "user" for run in chat):
            continue
        number += 1
        id = f"{transcript.name}/{number:04}"
        started = chat[0].text if chat[0].kind == "chat" else ""
        created_at = epoch_ms(started) or 0
        head = header(id, created_at=created_at)
        yield ImportedSession(id, FORMAT, head, _events(chat, Recorder(id, created_at=created_at)))


def _chats(runs: Iterable[Run]) -> Iterator[list[Run]]:
    chat: list[Run] = []
    for run in runs:
        if run.kind == "chat" and chat:
            yield chat
            chat = []
        chat.append(run)
    if chat:
        yield chat


def _events(chat: list[Run], recorder: Recorder) -> Iterator[Event]:
    calls = 0
    first = chat[0].line
    for run in _told(chat):
        recorder.at(run.line - first + 1)
        if run.kind == "user":
            command = run.text.startswith("/")
            recorder.turn(text(run.text), source=plugin(f"{FORMAT}:command") if command else HUMAN)
        elif run.kind == "printed":
            calls += 1
            call = recorder.call(f"{TOOL}-{calls}", TOOL, "")
            recorder.result(call, Answer(text(run.text), is_error=False))
        elif not run.text.isspace():
            recorder.say(Text(run.text))
        yield from recorder.take()
    recorder.end()
    yield from recorder.take()


def _told(chat: Iterable[Run]) -> Iterator[Run]:
    """The runs from the first prompt on; the blank lines right after a prompt are left out."""
    before: Kind = "chat"
    prompted = False
    for run in chat:
        prompted = prompted or run.kind == "user"
        kept = run
        if run.kind == "reply" and before == "user":
            kept = Run("reply", run.line, _without_blank_lines(run.text))
        before = run.kind
        if prompted and (kept.text or kept.kind != "reply"):
            yield kept


def _without_blank_lines(reply: str) -> str:
    said = reply.lstrip()
    return reply[reply.rfind("\n", 0, len(reply) - len(said)) + 1 :] if said else ""


def count_stream(lines: Iterable[bytes]) -> Counts:
    """Count a history as one stream, as if all its chats were one session.

    A chat header closes the open response but not the turn, so the banner of each later chat is
    a response of the last turn before it.
    """
    turns = steps = calls = chars = 0
    answering = False
    for run in _told(runs(lines)):
        if run.kind == "chat":
            answering = False
            continue
        chars += len(run.text)
        if run.kind == "user":
            turns += not run.text.startswith("/")
            answering = False
            continue
        calls += run.kind == "printed"
        steps += not answering
        answering = True
    return Counts(turns, steps, calls, 0, 0, 0, chars, None)
