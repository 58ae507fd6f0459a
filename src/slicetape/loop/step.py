"""One step: what is logged ahead of a model call, the call with its retries, and its tools."""

from collections.abc import Sequence
from dataclasses import dataclass

from slicetape.errors import LogError
from slicetape.log.events import Retry, RetryStarted, StepEnd, StepStart, UserMessage
from slicetape.log.messages import Message
from slicetape.log.payloads import (
    EndReason,
    Failure,
    RetryData,
    RetryStartedData,
    StepData,
)
from slicetape.loop.abort import Abort, Aborted
from slicetape.loop.attempt import Answered, attempt
from slicetape.loop.dispatch import Dispatch
from slicetape.loop.live import Live
from slicetape.loop.options import request_config

OVERFLOW = "CONTEXT_WINDOW_EXCEEDED"
FULL = (
    "the model's window is full; set window.compaction to go on with a summary, or start a new "
    "session that may recall from this one (--after)"
)
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stepped:
    """How a step went: whether it called tools, was cut, ended its turn, or failed."""

    called: bool = False
    cut: bool = False
    concludes: bool = False
    failure: Failure | None = None


async def before_step(
    live: Live, place: Place, claimed: Sequence[Message], abort: Abort
) -> tuple[Message, ...] | EndReason:
    """Make the session ready for a step; the messages to log in it, or why the turn ends.

    Always in this order: flush, compaction, instruction files and reminders, the runtime
    snapshot, cancellation, sealing, folding.
    """
    turn, step = place
    live.session.log.sync()
    if live.room is not None:
        await abort.guard(live.room.before_step(turn, step))
    added = [m for one in live.contexts for m in one.before_step(turn, step, claimed)]
    snapshot = live.prompt.snapshot(live.session, live.ids)
    messages = (*claimed, *added, *((snapshot,) if snapshot else ()))
    if step == 1 and not claimed:
        return EndReason("completed")
    if abort.cause:
        raise Aborted
    prepared = live.prestep.before_step(
        step, time=live.now(), pending=messages, recalls=live.recalls
    )
    live.watcher.prepared(prepared)
    return messages


async def run_step(live: Live, place: Place, messages: Sequence[Message], abort: Abort) -> Stepped:
    """Log `messages`, ask the model until it answers, and run what it calls.

    A step whose log failed stays open: its calls may lack results, and only who takes the
    session up again can give them.
    """
    session, data = live.session, StepData(*place)
    session.append(StepStart(time=live.now(), data=data))
    try:
        stepped = await _stepped(live, place, messages, abort)
    except LogError:
        raise
    except BaseException:
        session.append(StepEnd(time=live.now(), data=data))
        raise
    session.append(StepEnd(time=live.now(), data=data))
    return stepped


async def _stepped(live: Live, place: Place, messages: Sequence[Message], abort: Abort) -> Stepped:
    _log_input(live, place, messages)
    answer = await _answer(live, place, abort)
    if isinstance(answer, Failure):
        return Stepped(failure=answer)
    dispatch = Dispatch(live, place, abort)
    await dispatch.run(answer.calls)
    return Stepped(bool(answer.calls), answer.cut, dispatch.concludes)


def _log_input(live: Live, place: Place, messages: Sequence[Message]) -> None:
    in_history = live.model.route.system_prompt_update == "in-history"
    update = live.prompt.update(
        live.session,
        place,
        live.ids,
        time=live.now(),
        append=in_history and not live.headers.generation_moved,
    )
    if update is not None:
        live.session.append(update)
    for message in messages:
        live.session.append(UserMessage(time=live.now(), data=message, surface_op="append"))


async def _answer(live: Live, place: Place, abort: Abort) -> Answered | Failure:
    retry, reduced = 0, False
    while True:
        outcome = await _attempt(live, place, abort)
        if isinstance(outcome, Answered):
            return outcome
        failure = outcome
        if failure.code == OVERFLOW and live.room is not None and not reduced:
            reduced = True
            if await abort.guard(live.room.when_full(*place)):
                continue
        if failure.code == OVERFLOW and live.room is None:
            live.watcher.warning(FULL)
        retry += 1
        delay = _delay(live, failure, retry)
        live.watcher.failed(failure, delay)
        if delay is None:
            return failure
        await _wait(live, place, failure, (retry, delay), abort)


async def _attempt(live: Live, place: Place, abort: Abort) -> Answered | Failure:
    config, envelope = request_config(live)
    live.headers.write(envelope, live.model.route, time=live.now())
    ready = live.requests.build(config, live.tool_schemas, first_in_turn=place[1] == 1)
    live.session.log.sync()  # what a provider has seen must be on the disk
    live.requests.sent(ready)
    outcome = await attempt(live, ready.body, place, abort)
    return outcome if isinstance(outcome, Answered) else outcome.failure


def _delay(live: Live, failure: Failure, retry: int) -> float | None:
    """Milliseconds to wait before trying again; None to give up."""
    settings = live.settings
    if failure.code not in settings.retried or retry > settings.retries:
        return None
    asked = failure.provider_retry_after_ms
    if asked is not None:
        return asked if asked <= settings.longest_delay_ms else None
    plain = min(settings.first_delay_ms * 2 ** (retry - 1), settings.longest_delay_ms)
    return float(plain * (0.9 + 0.2 * live.jitter()))


async def _wait(
    live: Live, place: Place, failure: Failure, when: tuple[int, float], abort: Abort
) -> None:
    retry, delay = when
    turn, step = place
    retry_id = live.ids()
    live.session.append(
        Retry(
            time=live.now(),
            data=RetryData(
                retry_id=retry_id,
                turn=turn,
                step=step,
                provider=live.model.route.provider,
                mode="normal",
                policy_key="default",
                retry=retry,
                delay_ms=delay,
                failure=failure,
                max_retries=live.settings.retries,
            ),
        )
    )
    await abort.guard(live.clock.sleep(delay / 1_000))
    started = RetryStartedData(retry_id, turn, step, retry)
    live.session.append(RetryStarted(time=live.now(), data=started))
