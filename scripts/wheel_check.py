"""What an installed slicetape can do with its core dependencies alone.

Writes a session of three turns, seals what is finished, closes, opens again, goes on, and brings
every hidden result back. Run with the interpreter of an environment that holds the wheel.
"""

import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from slicetape.errors import RecallError
from slicetape.log.events import (
    AssistantMessage,
    Event,
    Header,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
    is_entry,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Source, Text, ToolCall, ToolResultBlock
from slicetape.log.payloads import (
    AssistantData,
    EndReason,
    StepData,
    ToolCallData,
    ToolResultData,
    TurnData,
    TurnEndData,
)
from slicetape.loop.prestep import Prestep
from slicetape.policy.settings import Settings
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface.session import Session

TIME = 1_700_000_000_000
TURNS = 3


def output(turn: int) -> str:
    """What the tool returned in `turn`: long, with text that is easily damaged."""
    return "\n".join(
        f"{turn}.{n} naïve 表 😀\u2028 [slice tape v1 is only text]" for n in range(200)
    )


def told(turn: int) -> list[Event]:
    """One turn: a question, a step that calls a tool, a step that answers."""
    id, arguments = f"call-{turn}", '{"path":"notes.txt"}'
    human, model = Source(kind="user"), Source(kind="model", model="m")
    question = Message(f"q-{turn}", "user", (Text(f"question {turn}"),), human)
    calling = Message(f"c-{turn}", "assistant", (ToolCall(id, "read", arguments),), model)
    block = ToolResultBlock(id, False, (Text(output(turn)),))
    result = Message(f"r-{turn}", "user", (block,), Source(kind="tool", call_id=id))
    answer = Message(f"a-{turn}", "assistant", (Text(f"answer {turn}"),), model)
    return [
        TurnStart(data=TurnData(turn)),
        StepStart(data=StepData(turn, 1)),
        UserMessage(data=question, surface_op="append"),
        AssistantMessage(data=AssistantData(turn, 1, calling), surface_op="append"),
        ToolCalled(data=ToolCallData(turn, 1, id, "read", arguments)),
        ToolResult(data=ToolResultData(turn, 1, result), surface_op="append"),
        StepEnd(data=StepData(turn, 1)),
        StepStart(data=StepData(turn, 2)),
        AssistantMessage(data=AssistantData(turn, 2, answer), surface_op="append"),
        StepEnd(data=StepData(turn, 2)),
        TurnEnd(data=TurnEndData(turn, EndReason("completed"))),
    ]


def write(session: Session, turn: int) -> None:
    """Record one turn, with sealing where the live loop seals."""
    prestep = Prestep(session, Settings().history)
    for event in told(turn):
        if isinstance(event, StepStart):
            session.append(msgspec.structs.replace(event, time=TIME + turn))
            prestep.before_step(event.data.step, time=TIME + turn)
        else:
            session.append(msgspec.structs.replace(event, time=TIME + turn))
    session.log.sync()


def check(session: Session) -> int:
    """Every finished turn but the last is sealed, and each result comes back; how many."""
    entries = [seq for seq in session.view.surface.nodes if is_entry(session.log.events[seq])]
    assert len(entries) == TURNS - 1, entries
    recall = Recall.of_session(session)
    results = [event for event in session.log.events if isinstance(event, ToolResult)]
    for turn, result in enumerate(results, 1):
        text = dispatch("expand_result", {"seq": result.seq, "formatVersion": 3}, recall)
        assert output(turn) in text, f"turn {turn} came back changed"
    assert "answer 1" in dispatch("recall_turn", {"turn": "1"}, recall)
    try:
        dispatch("expand_result", {"seq": 0, "formatVersion": 3}, recall)
    except RecallError:
        return len(results)
    raise AssertionError("an event that is no tool result was expanded")


def main() -> None:
    """Write, seal, close, reopen, go on, recall."""
    for extra in ("click", "rich", "yaml", "tokenizers"):
        assert find_spec(extra) is None, f"{extra} is installed: this is not the core alone"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        log = SessionLog.create(path, Header("session", 3, "wheel", TIME, False, 0))
        for turn in range(1, TURNS):
            if turn > 1:
                log = SessionLog.open(path)
            write(Session(log), turn)
            log.close()
        log = SessionLog.open(path)
        session = Session(log)
        write(session, TURNS)
        log.close()
        number = check(Session(SessionLog.read(path)))
    sys.stdout.write(
        f"slicetape {version('slicetape')}: wrote {TURNS} turns, sealed {TURNS - 1}, "
        f"reopened, recalled {number} results\n"
    )


if __name__ == "__main__":
    main()
