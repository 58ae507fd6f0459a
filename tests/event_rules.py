"""Whether events are a session that a host could have written, closed to its end."""

from collections.abc import Sequence

from imported import accepted
from slicetape.formats.session import header
from slicetape.log.events import Event, Foreign, ToolCalled, ToolResult
from slicetape.log.rules import Rules


def hold(events: Sequence[Event]) -> None:
    """Fail where an event breaks a rule of log, surface or turn, or a call is left open."""
    accepted(header("s"), events)
    rules = Rules.over(events)
    assert (rules.turn, rules.step) == (0, 0)
    calls = [event for event in events if isinstance(event, ToolCalled)]
    ids = [event.data.call_id for event in calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    results = [event for event in events if isinstance(event, ToolResult)]
    answered = {event.data.message.source.call_id: event.sources for event in results}
    assert answered == {event.data.call_id: (event.seq,) for event in calls}
    assert all(event.time > 0 for event in events)
    assert all(event.kind.startswith("x/") for event in events if isinstance(event, Foreign))
