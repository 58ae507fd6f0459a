"""The one definition of order: which events the model sees, and in which sequence."""

from collections.abc import Iterable

from slicetape.log.events import Event, Replace


def project(events: Iterable[Event], nodes: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Extend the surface `nodes` by `events`: equal logs give equal surfaces.

    Endpoints of a replacement are positions, not numbers. A replacement whose endpoints do not
    stand on the surface in that order raises ValueError.
    """
    for event in events:
        match event.surface_op:
            case None:
                pass
            case Replace(start_seq=start, end_seq=end):
                left, right = nodes.index(start), nodes.index(end)
                if left > right:
                    raise ValueError(f"seq {event.seq}: {start} stands behind {end}")
                nodes = (*nodes[:left], event.seq, *nodes[right + 1 :])
            case _:
                nodes = (*nodes, event.seq)
    return nodes
