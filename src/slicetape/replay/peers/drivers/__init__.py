"""Scripts that run in the environments of peers, one for each; nothing of slicetape is there.

Each module has `Session(settings)`: `take(messages, keep)` holds the next request, of which the
first `keep` messages are those of the one before, `rewrite()` is the peer's own work and the only
part that is timed, `given(result)` turns what it made to chat messages. A message that the peer
left alone is given back as the same object.
"""
