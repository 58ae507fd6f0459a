"""Ending a turn from outside: one abort a turn, with its cause."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

Cause = Literal["user", "parent", "disposed"]
T = TypeVar("T")


class Aborted(Exception):
    """The turn was aborted while something was waited for."""


class Abort:
    """Whether a turn is to end, and why. `cause` is None until it is set."""

    def __init__(self) -> None:
        self.cause: Cause | None = None
        self._event = asyncio.Event()

    def set(self, cause: Cause) -> None:
        """End the turn; the first cause stays."""
        self.cause = self.cause or cause
        self._event.set()

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; when the turn is aborted first, `work` is cancelled.

        Raises Aborted once `work` has ended.
        """
        if self.cause:
            work.close()
            raise Aborted
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if task.cancelled():
                raise Aborted
            return task.result()
        finally:
            stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
