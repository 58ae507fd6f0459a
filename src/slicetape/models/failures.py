"""What went wrong at a provider, in one table of codes.

AUTH                     401, 403: the key is missing, wrong, or may not do this
QUOTA                    the account has no balance or quota left
RATE_LIMIT               429: too many requests for now
CONTEXT_WINDOW_EXCEEDED  the request is longer than the window
INVALID_REQUEST          400, 413, 422: the request is not accepted as it is
SERVER                   500 and above, overloaded
HTTP_n                   any other status
TIMEOUT, TRANSPORT       no bytes for too long; the connection failed
STREAM_CLOSED            the stream ended before the answer did
MALFORMED_RESPONSE       what came is not what the wire says
EMPTY_RESPONSE           an answer with nothing in it
"""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from slicetape.log.payloads import Failure

MOST_CHARS = 500
_WINDOW = re.compile(
    r"context[ _-]?(length|window)|maximum context|prompt is too long|too many tokens"
    r"|input length and .?max_tokens.? exceed|exceeds? the (model'?s )?(context|max\w* tokens)",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[ _](balance|quota|funds|credit)|exceeded your current quota|billing"
    r"|credit balance is too low|quota (is )?exhausted",
    re.IGNORECASE,
)
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def of_status(
    status: int,
    body: str,
    headers: Mapping[str, str],
    *,
    secret: str = "",
    now: float | None = None,
) -> Failure:
    """The failure that an HTTP answer means. `secret` never stands in its text.

    `now` is epoch seconds, for a `retry-after` that names a date.
    """
    message = message_of(body) or f"the provider answered with status {status}"
    return Failure(
        message=clean(message, secret),
        code=_code(status, f"{message}\n{body[:4_000]}"),
        status=status,
        provider_retry_after_ms=retry_after_ms(headers, now=now),
        request_id=headers.get("x-request-id") or headers.get("request-id"),
    )


def of_text(message: str, kind: str = "", *, secret: str = "") -> Failure:
    """The failure that an error event inside a stream means."""
    text = f"{kind} {message}"
    if "overloaded" in text.lower() or kind in ("api_error", "server_error"):
        code = "SERVER"
    elif kind in ("rate_limit_error", "rate_limit_exceeded"):
        code = "RATE_LIMIT"
    elif kind in ("authentication_error", "permission_error"):
        code = "AUTH"
    else:
        code = _code(400, text)
    return Failure(clean(message or kind or "the stream reported an error", secret), code)


def failure(code: str, message: str, *, secret: str = "") -> Failure:
    """A failure of our own finding."""
    return Failure(clean(message, secret), code)


def clean(text: str, secret: str = "") -> str:
    """A text for a log and a person: one line, bounded, without the key."""
    if secret:
        text = text.replace(secret, "[key]")
        if len(secret) > 12:
            text = re.sub(re.escape(secret[:8]) + r"[\w*.-]*", "[key]", text)
    line = _UNSEEN.sub(" ", text).strip()
    return line if len(line) <= MOST_CHARS else line[: MOST_CHARS - 1] + "…"


def message_of(body: str) -> str:
    """The sentence in an error body; the body itself when it is no JSON of a known shape."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError):
        return body
    error = said.get("error", said) if isinstance(said, dict) else said
    if isinstance(error, dict):
        for key in ("message", "detail", "error"):
            if isinstance(error.get(key), str):
                return str(error[key])
    return error if isinstance(error, str) else body


def retry_after_ms(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """What `retry-after-ms` or `retry-after` (seconds or a date) ask for; else None."""
    plain = headers.get("retry-after-ms")
    if plain is not None and re.fullmatch(r"\d{1,9}(\.\d+)?", plain.strip()):
        return float(plain)
    value = (headers.get("retry-after") or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value) * 1_000
    if not value:
        return None
    try:
        due = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, (due - (time.time() if now is None else now)) * 1_000)


def _code(status: int, text: str) -> str:
    if status in (401, 403):
        return "AUTH"
    if status == 402 or _QUOTA.search(text):
        return "QUOTA"
    if status in (400, 413, 422) and _WINDOW.search(text):
        return "CONTEXT_WINDOW_EXCEEDED"
    if status in (400, 413, 422):
        return "INVALID_REQUEST"
    if status == 429:
        return "RATE_LIMIT"
    if status in (408, 504):
        return "TIMEOUT"
    return "SERVER" if status >= 500 else f"HTTP_{status}"
