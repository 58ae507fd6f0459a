"""Token figures of provider wires as usage with disjoint input counters."""

from typing import Any

from slicetape.formats.documents import found
from slicetape.log.payloads import Usage


def chat_usage(value: Any) -> Usage | None:
    """OpenAI-style usage: `prompt_tokens` contain what was read from and written to a cache."""
    prompt, out = _count(value, "prompt_tokens"), _count(value, "completion_tokens")
    if prompt is None and out is None:
        return None
    read = _first(
        _count(value, "prompt_tokens_details", "cached_tokens"),
        _count(value, "cache_read_tokens"),
        _count(value, "cache_read_input_tokens"),
        _count(value, "prompt_cache_hit_tokens"),
    )
    written = _first(
        _count(value, "cache_write_tokens"), _count(value, "cache_creation_input_tokens")
    )
    return Usage(
        input_tokens=max(0, (prompt or 0) - (read or 0) - (written or 0)),
        output_tokens=out or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_count(value, "completion_tokens_details", "reasoning_tokens"),
    )


def messages_usage(value: Any) -> Usage | None:
    """Anthropic-style usage: the input counters are disjoint."""
    fresh, out = _count(value, "input_tokens"), _count(value, "output_tokens")
    if fresh is None and out is None:
        return None
    return Usage(
        input_tokens=fresh or 0,
        output_tokens=out or 0,
        cache_read_tokens=_count(value, "cache_read_input_tokens"),
        cache_write_tokens=_count(value, "cache_creation_input_tokens"),
    )


def inspect_usage(value: Any) -> Usage | None:
    """Inspect's usage: `input_tokens` contain the cached ones where the total says so."""
    fresh, out = _count(value, "input_tokens"), _count(value, "output_tokens")
    if fresh is None and out is None:
        return None
    read = _count(value, "input_tokens_cache_read")
    written = _count(value, "input_tokens_cache_write")
    cached = (read or 0) + (written or 0)
    if _count(value, "total_tokens") == (fresh or 0) + (out or 0):
        fresh = max(0, (fresh or 0) - cached)
    return Usage(
        input_tokens=fresh or 0,
        output_tokens=out or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_count(value, "reasoning_tokens"),
    )


def _count(value: Any, *keys: str) -> int | None:
    number = found(value, *keys)
    return number if type(number) is int and number >= 0 else None


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
