"""What a person can ask of a chat besides talking: one function for each `/command`."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slicetape.cli.choosing import now_ms, undone
from slicetape.cli.composing import Composed, image_of, model_of
from slicetape.cli.context_parts import parts
from slicetape.cli.ledger import Spent, priced
from slicetape.cli.text import counted, one_line, when
from slicetape.config import effective
from slicetape.errors import UsageError
from slicetape.log.events import UserMessage, is_entry
from slicetape.log.locator import turn_locator
from slicetape.log.messages import Image, text_of
from slicetape.loop.protocols import Model
from slicetape.loop.resume import taken_up
from slicetape.policy.header import turn_range

if TYPE_CHECKING:
    from slicetape.recall.tools import Recall


@dataclass(slots=True)
class Chat:
    """A chat under way: its agent, pictures for the next message, and whether it is over."""

    made: Composed
    images: list[Image]
    over: bool = False


Lines = Iterator[str]


def run_command(chat: Chat, line: str) -> Lines:
    """Do what a line that starts with `/` asks; what to print. UsageError says what is wrong."""
    name, _, rest = line[1:].partition(" ")
    row = COMMANDS.get(name)
    if row is None:
        from difflib import get_close_matches

        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean /{near[0]}?" if near else "/help lists them"
        raise UsageError(f"no command /{name[:40]}; {hint}")
    if chat.made.agent.running and row.idle:
        raise UsageError(f"/{name} waits for the end of the turn; Ctrl-C stops it")
    return row.do(chat, rest.strip())


def _help(_chat: Chat, _rest: str) -> Lines:
    width = max(len(row.usage) for row in COMMANDS.values())
    for row in COMMANDS.values():
        yield f"  {row.usage:<{width}}  {row.does}"
    yield "  Enter sends, Alt-Enter begins a new line. While the agent works, what you send joins"
    yield "  its next step. Ctrl-C stops the turn, twice leaves; Ctrl-D leaves."


def _context(chat: Chat, _rest: str) -> Lines:
    agent = chat.made.agent
    found = parts(agent.session.view, agent.tool_schemas)
    total = sum(part.chars for part in found.values()) or 1
    yield f"  {'in the next request':<26} {'count':>6} {'chars':>10} {'share':>6}"
    for name, part in found.items():
        yield f"  {name:<26} {part.count:>6} {part.chars:>10,} {part.chars / total:>6.0%}"
    hidden = _hidden(chat)
    if hidden:
        yield f"  hidden, and back with one call: {hidden}"


def _hidden(chat: Chat) -> str:
    view = chat.made.agent.session.view
    entries = len(view.entries)
    sealed = sum(len(view.events[seq].sources) for seq in view.entries)
    if not entries:
        return ""
    return f"{counted(sealed, 'message')} behind {counted(entries, 'entry', 'entries')}"


def _tape(chat: Chat, _rest: str) -> Lines:
    view = chat.made.agent.session.view
    if not view.entries:
        yield "  the tape is empty: a turn is sealed when the next begins, if its entry is shorter"
    for seq in view.entries:
        event = view.events[seq]
        assert isinstance(event, UserMessage)
        assert is_entry(event)
        text = text_of(event.data.content)
        turns = turn_range(text) or (0, 0)
        name = f"turn {turns[0]}" if turns[0] == turns[1] else f"turns {turns[0]}-{turns[1]}"
        size = f"{counted(len(event.sources), 'message')} → {len(text):,} chars"
        yield f"  seq {seq:<6} {name:<12} {size:<32} {turn_locator(turns[1])}"


def _cost(chat: Chat, _rest: str) -> Lines:
    ledger = chat.made.ledger
    for name, spent in (("this turn", ledger.turn), ("in total", ledger.total)):
        yield f"  {name:<10} {_spent(spent, ledger.currency)}"
    if not ledger.currency:
        yield "  no price sheet is known for this model, so no money is shown"
    else:
        yield f"  prices: sheet {ledger.sheet}"


def _spent(spent: Spent, currency: str) -> str:
    tokens = spent.tokens
    money = priced(spent.money, currency)
    share = f", {spent.hit_share:.0%} of the input from the cache" if spent.tokens.input else ""
    return (
        f"{counted(spent.calls, 'call')}: {tokens.input:,} tokens in ({tokens.fresh:,} fresh, "
        f"{tokens.written:,} written, {tokens.cached:,} cached), {tokens.output:,} out{share}"
        + (f" · {money}" if money else "")
    )


def _recall(chat: Chat, rest: str) -> Lines:
    from slicetape.recall.tools import dispatch

    words = shlex.split(rest) if rest else []
    match words:
        case ["turn", number, *more]:
            view = "full" if "full" in more else "dialogue"
            asked: tuple[str, dict[str, object]] = ("recall_turn", {"turn": number, "view": view})
        case ["step", turn, step]:
            asked = ("recall_step", {"turn": turn, "step": step})
        case ["seq", number, *more]:
            extra: dict[str, object] = {"grep": " ".join(more)} if more else {}
            asked = (
                "expand_result",
                {"seq": _number(number), "formatVersion": 3, **extra},
            )
        case [_, *_]:
            asked = ("recall_search", {"query": rest.removeprefix("search ")})
        case _:
            raise UsageError(
                "/recall WORDS, /recall turn N [full], /recall step T S, /recall seq N"
            )
    recall: Recall = chat.made.recall
    yield from dispatch(*asked, recall, lenient=True).splitlines()


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{text[:40]!r} is no number of an event")
    return int(text)


def _undo(chat: Chat, _rest: str) -> Lines:
    made = chat.made
    log = made.agent.session.log
    compressed = made.setting.loaded.settings.log.compression == "zstd"
    child = undone(made.setting.store, log, compressed=compressed)
    log.close()
    made.over(child)
    yield f"  the last turn is undone in a new session, {child.log.header.id};"
    yield f"  {log.header.id} keeps it. Files that it changed are as it left them."


def _model(chat: Chat, rest: str) -> Lines:
    if not rest:
        route = chat.made.agent.model.route
        yield f"  {route.provider}:{route.model}"
        return
    model = _model_of(chat.made, rest)
    chat.made.use(model)
    yield f"  {rest} from the next turn on; its cache begins empty"


def _model_of(made: Composed, spec: str) -> Model:
    setting = made.setting
    return model_of(spec, setting.loaded, setting.store, setting.pictures)


def _resume(chat: Chat, rest: str) -> Lines:
    made = chat.made
    if not rest:
        from slicetape.cli.catalog import catalog_at_home

        with catalog_at_home() as catalog:
            rows = [row for row in catalog.sessions() if row.cwd == str(Path.cwd())][:10]
        for row in rows:
            title = one_line(row.title or "", 50)
            yield f"  {row.id:<24} {when(row.created):<17} {counted(row.turns, 'turn'):<9} {title}"
        yield "  /resume SESSION goes on with one of them"
        return
    log = made.setting.store.open(rest)
    made.agent.session.log.close()
    made.over(taken_up(log, time=now_ms()))
    yield f"  going on with {log.header.id}: {counted(made.agent.session.view.turns.ended, 'turn')}"


def _settings(chat: Chat, _rest: str) -> Lines:
    loaded = chat.made.setting.loaded
    for key, value in effective(loaded.settings):
        yield f"  {key:<34} {value!s:<18} {loaded.origins.get(key, 'default')}"


def _image(chat: Chat, rest: str) -> Lines:
    if not rest:
        raise UsageError("/image FILE puts a picture into the next message")
    chat.images.append(image_of(chat.made.agent.session, Path(rest).expanduser()))
    yield f"  {one_line(rest, 60)} goes along with the next message"


def _quit(chat: Chat, _rest: str) -> Lines:
    chat.over = True
    yield from ()


@dataclass(frozen=True, slots=True)
class Row:
    """A command: how it is written, what it does, and whether it needs an idle agent."""

    usage: str
    does: str
    do: Callable[[Chat, str], Lines]
    idle: bool = False


COMMANDS = {
    "help": Row("/help", "this list", _help),
    "context": Row("/context", "what is in the next request, by kind", _context),
    "tape": Row("/tape", "the sealed entries", _tape),
    "recall": Row("/recall WORDS", "search; turn N, step T S or seq N bring back", _recall),
    "cost": Row("/cost", "tokens and money of this turn and in total", _cost),
    "undo": Row("/undo", "a new session without the last turn", _undo, idle=True),
    "model": Row("/model [PROVIDER:MODEL]", "the model, or another one", _model, idle=True),
    "resume": Row(
        "/resume [SESSION]", "the sessions of this directory, or one", _resume, idle=True
    ),
    "image": Row("/image FILE", "a picture for the next message", _image),
    "settings": Row("/settings", "the settings in force and where each is from", _settings),
    "quit": Row("/quit", "leave", _quit),
}
