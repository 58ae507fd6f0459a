"""What went wrong at a provider, in one table of codes.

AUTH                     401, 403: the key is missing, wrong, or may not do this
QUOTA                    402, or a text that says that balance or quota are used up
RATE_LIMIT               429: too many requests for now
CONTEXT_WINDOW_EXCEEDED  the request is longer than the window
INVALID_REQUEST          400, 413, 422: the request is not accepted as it is
SERVER                   500 and above, overloaded
HTTP_n                   any other status
TIMEOUT, TRANSPORT       no bytes for too long; the connection failed
STREAM_CLOSED            the stream ended before the answer did
MALFORMED_RESPONSE       what came is not what the wire says
EMPTY_RESPONSE           an answer with nothing in it
any other, in capitals   the reason for which the provider ended the answer
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from slicetape.log.payloads import Failure
from slicetape.models.reading import as_object, as_string, decoded

MOST_CHARS = 500
_WINDOW = re.compile(
    r"context[ _-](length|window|size|limit)|maximum context|prompt is too long"
    r"|input tokens? (count )?(\([0-9]+\) )?exceeds?|input is too long|too many input tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[ _](balance|quota|funds|credit)|exceeded your current quota"
    r"|credit balance is too low|requires more credits|billing_(error|not_active|hard_limit)"
    r"|quota (is |has been )?exhausted",
    re.IGNORECASE,
)
_KINDS = (
    ("QUOTA", re.compile(r"insufficient_quota|billing|insufficient_balance", re.IGNORECASE)),
    ("RATE_LIMIT", re.compile(r"rate_?limit|too_many_requests", re.IGNORECASE)),
    (
        "AUTH",
        re.compile(r"authentication|permission|unauthorized|api_key", re.IGNORECASE),
    ),
    ("TIMEOUT", re.compile(r"timeout", re.IGNORECASE)),
    ("INVALID_REQUEST", re.compile(r"invalid|bad_?request|too_large|not_found", re.IGNORECASE)),
)
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_KEYLIKE = re.compile(r"\b(sk|pk)-[A-Za-z0-9_*.-]{8,}")
_CODE = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Said:
    """The sentence of an error body, and the names that it gives the error."""

    message: str
    kind: str = ""
    status: int | None = None


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
    said = said_in(body)
    message = said.message or f"the provider answered with status {status}"
    return Failure(
        message=clean(message, secret),
        code=_code(status, f"{said.kind} {message}"),
        status=status,
        provider_retry_after_ms=retry_after_ms(headers, now=now),
        request_id=_request_id(headers.get("x-request-id") or headers.get("request-id"), secret),
    )


def of_error(error: object, *, secret: str = "", request_id: str | None = None) -> Failure:
    """The failure that an error inside a stream means."""
    said = _said({"error": error})
    text = f"{said.kind} {said.message}"
    code = "SERVER"
    if said.status is not None and 400 <= said.status < 600:
        code = _code(said.status, text)
    elif _QUOTA.search(text):
        code = "QUOTA"
    elif _WINDOW.search(text):
        code = "CONTEXT_WINDOW_EXCEEDED"
    else:
        code = next((code for code, kind in _KINDS if kind.search(said.kind)), "SERVER")
    message = said.message or said.kind or "the stream reported an error"
    return Failure(
        clean(message, secret), code, said.status, request_id=_request_id(request_id, secret)
    )


def of_body(body: str, *, secret: str = "") -> Failure:
    """The failure of an answer that was accepted and is no stream."""
    found = decoded(body) if body else None
    if found is not None and found.get("error"):
        return of_error(found["error"], secret=secret)
    if not body:
        return failure("STREAM_CLOSED", "the provider closed the connection without an answer")
    text = f"the provider did not stream its answer: {body[:200]}"
    return failure("MALFORMED_RESPONSE", text, secret=secret)


def failure(code: str, message: str, *, secret: str = "") -> Failure:
    """A failure of our own finding."""
    return Failure(clean(message, secret), code)


def ended_with(reason: str, *, secret: str = "") -> Failure:
    """The failure of an answer that the provider ended for `reason`."""
    code = _CODE.sub("_", clean(reason, secret).upper()).strip("_")[:64]
    return failure(code or "UNKNOWN", f'the provider ended the answer: "{reason[:80]}"')


def clean(text: str, secret: str = "") -> str:
    """A text for a log and a person: one line, bounded, without the key.

    What is shorter than 8 characters is no key but a word that a local server wanted to see.
    """
    text = text[:20_000]
    if len(secret) >= 8:
        text = text.replace(secret, "[key]")
        if len(secret) > 12:
            text = re.sub(re.escape(secret[:8]) + r"[\w*.-]*", "[key]", text)
    text = _KEYLIKE.sub("[key]", text)
    text = text.encode("utf-8", "replace").decode()
    line = _UNSEEN.sub(" ", text).strip()
    return line if len(line) <= MOST_CHARS else line[: MOST_CHARS - 1] + "…"


def said_in(body: str) -> Said:
    """What an error body says; the body itself when it is no JSON of a known shape."""
    found = decoded(body)
    if found is None:
        return Said("" if body.lstrip().startswith("<") else body)
    return _said(found, body)


def _said(body: dict[str, object], text: str = "") -> Said:
    error = body.get("error") or body
    if isinstance(error, str):
        return Said(error)
    fields = as_object(error)
    message = next(
        (
            said
            for key in ("message", "detail", "error", "msg")
            if (said := as_string(fields.get(key)))
        ),
        text,
    )
    names = [fields.get("type"), fields.get("code"), fields.get("status")]
    kind = " ".join(as_string(name)[:100] for name in names if as_string(name))
    number = fields.get("code") or fields.get("status")
    status = number if isinstance(number, int) and 100 <= number < 600 else None
    return Said(message, kind, status)


def retry_after_ms(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """The wait that `retry-after-ms` or `retry-after` (seconds or a date) asks for, if any."""
    plain = headers.get("retry-after-ms")
    if plain is not None and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", plain.strip()):
        return float(plain)
    value = (headers.get("retry-after") or "").strip()[:100]
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        return float(value) * 1_000
    if not value:
        return None
    try:
        due = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, (due - (time.time() if now is None else now)) * 1_000)


def _request_id(given: str | None, secret: str) -> str | None:
    return clean(given, secret)[:100] if given else None


def _code(status: int, text: str) -> str:
    if status == 401:
        return "AUTH"
    if status == 402 or (status < 500 and _QUOTA.search(text)):
        return "QUOTA"
    if status == 403:
        return "AUTH"
    if status in (400, 413, 422):
        return "CONTEXT_WINDOW_EXCEEDED" if _WINDOW.search(text) else "INVALID_REQUEST"
    if status == 429:
        return "RATE_LIMIT"
    return "SERVER" if status >= 500 else f"HTTP_{status}"
