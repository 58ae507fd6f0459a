"""Taking up a session where another process left it."""

from slicetape.log.log import SessionLog
from slicetape.log.repair import resumption
from slicetape.surface import Session


def taken_up(log: SessionLog, *, time: int) -> Session:
    """The session of a log that has a past: what a crash left open is closed, in the log.

    A new log stays as it is. Closed calls are answered in one of two ways: the outcome is
    unknown, or the call never started.
    """
    if log.events:
        log.extend(resumption(log.events, time=time))
    return Session(log)
