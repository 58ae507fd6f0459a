"""One attempt at a model call, and what becomes of it in the log."""

import contextlib
from dataclasses import dataclass

from slicetape.log.events import AssistantAttempt, AssistantMessage
from slicetape.log.messages import Block, Message, Source, ToolCall
from slicetape.log.payloads import AssistantData, AttemptData, Failure
from slicetape.loop.abort import Abort, Aborted
from slicetape.loop.calls import sound_calls
from slicetape.loop.live import Live
from slicetape.loop.sound import sound_blocks
from slicetape.loop.stream import Stream, kept, visible

EMPTY = Failure("the model ended its answer without saying anything", "EMPTY_RESPONSE")
ENDLESS = Failure("the stream ended without a finish", "STREAM_CLOSED")


@dataclass(frozen=True, slots=True)
class Answered:
    """The model answered; `cut` when it ran into its output limit."""

    calls: tuple[ToolCall, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt gave no message."""

    failure: Failure


async def attempt(
    live: Live, body: bytes, place: tuple[int, int], abort: Abort
) -> Answered | Failed:
    """Send a request, take in its stream, and log what came of it.

    Raises Aborted when the turn was aborted; what could be seen until then is logged.
    """
    stream = Stream()
    failure: Failure | None = None
    try:
        await abort.guard(_consume(live, body, stream))
    except Aborted:
        _log_cut(live, stream, place)
        raise
    except Exception as error:  # noqa: BLE001  # an adapter must not end the session
        failure = Failure(f"{type(error).__name__}: {error}"[:500], "ADAPTER")
    finish = stream.finish
    if failure is None:
        failure = finish.reason.failure if finish else ENDLESS
        if finish and finish.reason.kind in ("error", "aborted") and failure is None:
            failure = Failure("the call failed without saying why", "UNKNOWN")
    if failure is None:
        assert finish is not None
        cut = finish.reason.kind == "max-tokens"
        found = kept(stream, calls=not cut)
        if found.content or cut:
            return _log_answer(live, stream, place, cut=cut)
        failure = EMPTY
    _log_attempt(live, stream, place)
    return Failed(failure)


async def _consume(live: Live, body: bytes, stream: Stream) -> None:
    deltas = live.model.stream(body)
    try:
        async for delta in deltas:
            stream.take(delta, live.now())
            live.watcher.delta(delta)
            if stream.finish is not None:
                return
    finally:
        close = getattr(deltas, "aclose", None)
        if close is not None:
            with contextlib.suppress(Exception):
                await close()


def _log_answer(live: Live, stream: Stream, place: tuple[int, int], *, cut: bool) -> Answered:
    found = kept(stream, calls=not cut)
    calls = live.session.view.calls
    said = sound_blocks(found.content)
    content = sound_calls(said, lambda name: calls.newest(name) is not None)
    route = live.model.route
    source = Source("model", provider=route.provider, model=route.model)
    if found.replay_state:
        source = Source(
            "model",
            provider=route.provider,
            model=route.model,
            replay_state=found.replay_state,
        )
    _append(live, stream, place, content, source)
    return Answered(tuple(b for b in content if isinstance(b, ToolCall)), cut)


def _log_cut(live: Live, stream: Stream, place: tuple[int, int]) -> None:
    content = sound_blocks(visible(stream))
    if not content:
        _log_attempt(live, stream, place)
        return
    route = live.model.route
    source = Source("model", provider=route.provider, model=route.model)
    _append(live, stream, place, content, source, interrupted=True)


def _append(
    live: Live,
    stream: Stream,
    place: tuple[int, int],
    content: tuple[Block, ...],
    source: Source,
    *,
    interrupted: bool | None = None,
) -> None:
    data = AssistantData(
        *place,
        Message(live.ids(), "assistant", content, source),
        usage=None if interrupted else stream.usage,
        interrupted=interrupted,
        stream=stream.records,
    )
    live.session.append(AssistantMessage(time=live.now(), data=data, surface_op="append"))


def _log_attempt(live: Live, stream: Stream, place: tuple[int, int]) -> None:
    data = AttemptData(*place, stream.records)
    live.session.append(AssistantAttempt(time=live.now(), data=data))
