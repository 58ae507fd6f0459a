"""Every error slicetape raises on purpose.

    SlicetapeError
    ├── LogError                the record of a session
    │   ├── DamagedLog          a committed part of a file cannot be read
    │   ├── UnsupportedFormat   a format version or event kind this build may not skip
    │   ├── InvalidEvent        an append or load that breaks a rule of the log or the surface
    │   ├── SessionLocked       another process writes this session
    │   ├── SessionNotFound     no session of that id
    │   ├── AmbiguousSession    an id prefix that matches several sessions
    │   └── StorageFailed       the disk refused a write; what was written before stands
    ├── TranscriptError         a foreign transcript that cannot be imported
    ├── RecallError             a recall that cannot be answered; the text is shown to the model
    ├── ConfigError             a setting that cannot be used; the text names file and key
    ├── WireError               messages that a provider's wire cannot carry
    ├── PriceError              an unknown price sheet, arm or token counter
    ├── LoopError               a request that may not be sent, or an agent that cannot go on
    ├── PeerError               a library to compare with that is unknown, absent or did not answer
    └── UsageError              a command that was called wrongly

A message says what is wrong, where, and what to do next, in one or two lines.
"""


class SlicetapeError(Exception):
    """Root of every error raised on purpose."""


class LogError(SlicetapeError):
    """Something about the record of a session."""


class DamagedLog(LogError):
    """A committed part of the file cannot be read. Nothing behind it is dropped silently."""


class UnsupportedFormat(LogError):
    """The file is whole, but this build may not read it."""


class InvalidEvent(LogError):
    """An event breaks a rule of the log or the surface; nothing was changed."""


class SessionLocked(LogError):
    """Another process holds the writer's lock of this session."""


class SessionNotFound(LogError):
    """No session of that id or path."""


class AmbiguousSession(LogError):
    """An id prefix that matches more than one session."""


class StorageFailed(LogError):
    """The disk refused a write. Everything written before still stands."""


class TranscriptError(SlicetapeError):
    """A foreign transcript that cannot be imported."""


class RecallError(SlicetapeError):
    """A recall that cannot be answered. The text is shown to the model and says what to call."""


class ConfigError(SlicetapeError):
    """A setting that cannot be used. The text names the key and what to write instead."""


class WireError(SlicetapeError):
    """Messages that a provider's wire cannot carry."""


class PriceError(SlicetapeError):
    """An unknown price sheet or token counter, or a cost that cannot be computed."""


class LoopError(SlicetapeError):
    """A request that may not be sent, or an agent that cannot go on. The log stands as it was."""


class PeerError(SlicetapeError):
    """A library to compare with that is unknown, cannot be installed, or did not answer."""


class UsageError(SlicetapeError):
    """A command that was called wrongly."""
