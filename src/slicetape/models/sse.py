"""Server-sent events, as both wires stream them."""

import asyncio
from collections.abc import AsyncIterator

MOST_BYTES = 64 * 1024 * 1024
"""The size of one event beyond which a stream is taken for broken."""


class Silent(Exception):
    """Nothing came for too long."""


class Oversized(Exception):
    """An event that no provider sends."""


async def events(lines: AsyncIterator[str], *, silence: float) -> AsyncIterator[tuple[str, str]]:
    """The events of a stream: name (empty when none is given) and data.

    Raises Silent when `silence` seconds pass without a line. Comments and unknown fields are
    passed over; an event that the stream breaks off in is not given.
    """
    name, data, size = "", list[str](), 0
    waiting = aiter(lines)
    while True:
        try:
            line = await asyncio.wait_for(anext(waiting), silence)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Silent from None
        if not line:
            if data:
                yield name, "\n".join(data)
            name, data, size = "", [], 0
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            size += len(value)
            if size > MOST_BYTES:
                raise Oversized
            data.append(value)
