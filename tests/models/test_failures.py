"""One table of failures: codes, waits, and texts that a person may see."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.models.failures import (
    MOST_CHARS,
    clean,
    ended_with,
    of_body,
    of_error,
    of_status,
    retry_after_ms,
)

KEY = "sk-live-9f8e7d6c5b4a39281706"


def said(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, **more}})


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, said("no"), "AUTH"),
        (403, said("no"), "AUTH"),
        (402, said("Insufficient Balance"), "QUOTA"),
        (400, said("bad field"), "INVALID_REQUEST"),
        (413, said("request too large"), "INVALID_REQUEST"),
        (422, said("bad field"), "INVALID_REQUEST"),
        (404, said("no such model"), "HTTP_404"),
        (408, said("slow"), "HTTP_408"),
        (429, said("Rate limit reached; see the billing page"), "RATE_LIMIT"),
        (429, said("You exceeded your current quota", type="insufficient_quota"), "QUOTA"),
        (429, said("wait", code="insufficient_quota"), "QUOTA"),
        (400, said("Your credit balance is too low to access the API"), "QUOTA"),
        (403, said("billing_not_active"), "QUOTA"),
        (500, said("oops"), "SERVER"),
        (503, "<html>upstream</html>", "SERVER"),
        (529, said("Overloaded", type="overloaded_error"), "SERVER"),
        (302, "", "HTTP_302"),
    ],
)
def test_a_status_and_its_text_are_one_code(status: int, body: str, code: str) -> None:
    assert of_status(status, body, {}).code == code


@pytest.mark.parametrize(
    "body",
    [
        said("This model's maximum context length is 131072 tokens. However, you requested 140000"),
        said("too much", code="context_length_exceeded"),
        said("Your input exceeds the context window of this model."),
        said("Input tokens exceed the configured limit of 272000 tokens."),
        said("prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error"),
        said("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"),
        said("the request exceeds the available context size, try increasing it"),
        said("The input token count (1200000) exceeds the maximum number of tokens allowed"),
        '{"message": "maximum context length"}',
        '{"detail": "context window exceeded"}',
        "prompt is too long",
    ],
)
def test_every_provider_says_in_its_way_that_the_window_is_full(body: str) -> None:
    assert of_status(400, body, {}).code == "CONTEXT_WINDOW_EXCEEDED"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"type": "overloaded_error"}, "SERVER"),
        ({"type": "api_error", "message": "internal"}, "SERVER"),
        ({"type": "rate_limit_error"}, "RATE_LIMIT"),
        ({"type": "authentication_error"}, "AUTH"),
        ({"type": "permission_error"}, "AUTH"),
        ({"type": "timeout_error"}, "TIMEOUT"),
        ({"type": "invalid_request_error"}, "INVALID_REQUEST"),
        ({"type": "billing_error"}, "QUOTA"),
        ({"message": "quota exhausted"}, "QUOTA"),
        ({"code": 502, "message": "bad gateway"}, "SERVER"),
        ({"code": 429}, "RATE_LIMIT"),
        ({"code": "context_length_exceeded"}, "CONTEXT_WINDOW_EXCEEDED"),
        ("went wrong", "SERVER"),
        (["x"], "SERVER"),
        (None, "SERVER"),
    ],
)
def test_an_error_within_a_stream_has_a_code(error: Any, code: str) -> None:
    failure = of_error(error)
    assert failure.code == code
    assert failure.message


def test_a_failure_keeps_request_id_and_status() -> None:
    failure = of_status(500, "", {"request-id": "req_1\x1b[0m"})
    assert (failure.status, failure.request_id) == (500, "req_1 [0m")
    assert failure.message == "the provider answered with status 500"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7_000),
        ({"retry-after": " 0.5 "}, 500),
        ({"retry-after-ms": "250", "retry-after": "9"}, 250),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9_000),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50_000),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1" * 400}, None),
    ],
)
def test_a_wait_is_read_from_seconds_and_dates(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after_ms(headers, now=10.0) == wait


def test_a_body_that_is_no_stream_is_an_error_or_malformed() -> None:
    assert of_body(said("no", code=401)).code == "AUTH"
    assert of_body('{"choices": []}').code == "MALFORMED_RESPONSE"
    assert of_body("").code == "STREAM_CLOSED"


def test_a_word_in_the_place_of_a_key_is_left_in_texts() -> None:
    assert clean("none of the models is loaded", "none") == "none of the models is loaded"
    assert clean("a key-value-store is not found") == "a key-value-store is not found"


def test_a_text_is_one_line_and_bounded() -> None:
    assert clean("a\r\n\tb\x1b[31m\u202ec\u2028d\x00") == "a b [31m c d"
    assert len(clean("x" * 5_000)) == MOST_CHARS
    assert clean("\ud800") == "?"


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        "Incorrect API key provided: sk-live-****************1706.",
        f"got Bearer {KEY}, expected another",
        "your key sk-other-account-key-000000 is revoked",
        "x" * 480 + KEY,
        "x" * 495 + KEY,
    ],
)
def test_no_text_holds_a_key(text: str) -> None:
    cleaned = clean(text, KEY)
    assert "9f8e7d6c" not in cleaned
    assert "sk-" not in cleaned


@given(st.text(), st.text(min_size=20, max_size=40).filter(lambda key: key.strip() == key))
def test_a_key_never_comes_through(text: str, key: str) -> None:
    assert key not in clean(f"{text}{key}{text}", key)


@given(st.one_of(st.text(), st.binary().map(lambda b: b.decode("latin-1"))))
def test_any_body_is_a_failure(body: str) -> None:
    for failure in (of_status(400, body, {}), of_error(body), of_body(body), ended_with(body)):
        assert failure.code
        assert len(failure.message) <= MOST_CHARS
        assert "\n" not in failure.message
        failure.message.encode()
