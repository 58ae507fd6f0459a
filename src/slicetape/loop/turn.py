"""One turn, from its input to its end."""

import msgspec
from msgspec import Raw

from slicetape.errors import LoopError
from slicetape.log.events import TurnEnd, TurnStart
from slicetape.log.payloads import EndReason, Failure, TurnData, TurnEndData
from slicetape.loop.abort import Abort, Aborted
from slicetape.loop.live import Live
from slicetape.loop.step import before_step, run_step

REFUSED = "REQUEST_REFUSED"
"""The failure code of a turn whose request may not be sent."""


async def run_turn(live: Live, turn: int, abort: Abort) -> EndReason:
    """Take what waits and work until the model is done; why the turn ended, as logged.

    LogError when the log cannot be written: the turn then stays open, and is closed on resume.
    """
    live.session.append(TurnStart(time=live.now(), data=TurnData(turn)))
    try:
        reason = await _steps(live, turn, abort)
    except Aborted:
        cause = Raw(msgspec.json.encode({"kind": abort.cause}))
        reason = EndReason("aborted", reason=cause)
    except LoopError as error:
        reason = EndReason("error", Failure(str(error), REFUSED))
        live.watcher.warning(str(error))
    live.session.append(TurnEnd(time=live.now(), data=TurnEndData(turn, reason)))
    live.session.log.sync()
    return reason


async def _steps(live: Live, turn: int, abort: Abort) -> EndReason:
    claimed = live.inbox.claim_turn(time=live.now())
    step, cut = 1, False
    while True:
        ready = await before_step(live, (turn, step), claimed, abort)
        if isinstance(ready, EndReason):
            return ready
        done = await run_step(live, (turn, step), ready, abort)
        if done.failure is not None:
            return EndReason("error", done.failure)
        cut = cut or done.cut
        if (cut or done.concludes or not done.called) and not live.inbox.waiting("next-step"):
            return EndReason("max-tokens" if cut else "completed")
        if live.settings.max_steps is not None and step >= live.settings.max_steps:
            return _blocked(live, turn)
        claimed = live.inbox.claim_step(time=live.now())
        step += 1


def _blocked(live: Live, turn: int) -> EndReason:
    """The end at the step limit; what waits for the next step stays and is not lost."""
    text = f"slice maxStepsPerTurn={live.settings.max_steps} reached"
    live.note("x/step-limit", {"turn": turn, "maxStepsPerTurn": live.settings.max_steps})
    live.watcher.warning(text)
    return EndReason("blocked")
