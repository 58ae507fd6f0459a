"""What strict providers refuse, and how each of them says so.

Unknown members of a request are taken; pairing, roles and empty contents are held to the rules of
the wire, and the texts of refusals are close to those that clients look for.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from slicetape.errors import WireError
from slicetape.testing.pieces import Wire
from slicetape.wire.lint import CHAT, DEEPSEEK, MESSAGES
from slicetape.wire.lint_wire import lint_chat, lint_messages

Dialect = Literal["deepseek", "openai", "anthropic"]
WIRES: Mapping[Dialect, Wire] = {"deepseek": "chat", "openai": "chat", "anthropic": "messages"}

_RULES = {
    "deepseek": DEEPSEEK,
    "openai": CHAT,
    "anthropic": replace(MESSAGES, alternate=True),
}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_TEXTS = {
    401: "the key is not valid",
    402: "Insufficient Balance",
    403: "the key may not do this",
    429: "Rate limit reached: too many requests",
    500: "Internal server error",
    503: "The server is overloaded; try again later",
    529: "Overloaded",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request gets no answer; `invalid` when no provider takes it."""

    status: int
    text: str
    code: str | None = None
    invalid: bool = False

    def headers(self, dialect: Dialect, number: int) -> dict[str, str]:
        """What stands beside the answer."""
        later = {"retry-after": "1"} if self.status in (429, 503) else {}
        return {**request_id(dialect, number), **later}

    def body(self, dialect: Dialect, number: int) -> dict[str, Any]:
        """The answer, as that provider writes it."""
        kind = _KINDS.get(self.status, "api_error" if self.status >= 500 else _KINDS[400])
        error: dict[str, Any] = {"type": kind, "message": self.text}
        if dialect == "anthropic":
            return {"type": "error", "error": error, "request_id": f"req_{number}"}
        return {"error": {**error, "param": None, "code": self.code or kind}}


def request_id(dialect: Dialect, number: int) -> dict[str, str]:
    """The header that names a request."""
    return {"request-id" if dialect == "anthropic" else "x-request-id": f"req_{number}"}


def injected(status: int) -> Refusal:
    """A refusal that was asked for."""
    return Refusal(status, f"{_TEXTS.get(status, 'refused')} (injected)")


def too_long(dialect: Dialect, tokens: int, window: int) -> Refusal:
    """The prompt does not fit into the window."""
    texts = {
        "deepseek": f"This model's maximum context length is {window} tokens. However, you "
        f"requested {tokens} tokens ({tokens} in the messages, 0 in the completion). Please "
        "reduce the length of the messages or completion.",
        "openai": f"This model's maximum context length is {window} tokens. However, your "
        f"messages resulted in {tokens} tokens. Please reduce the length of the messages.",
        "anthropic": f"prompt is too long: {tokens} tokens > {window} maximum",
    }
    code = "context_length_exceeded" if dialect == "openai" else None
    return Refusal(400, texts[dialect], code)


def _invalid(text: str) -> Refusal:
    return Refusal(400, text, invalid=True)


def checked(dialect: Dialect, body: bytes, *, answered: bool = True) -> dict[str, Any] | Refusal:
    """The request that a body is, or why a strict provider does not take it.

    `answered` asks for what only an answer needs.
    """
    try:
        asked = json.loads(body)
        if not isinstance(asked, dict):
            return _invalid("the body is not a JSON object")
        if not isinstance(asked.get("model"), str) or not asked["model"]:
            return _invalid("model: a name is required")
        if not isinstance(asked.get("messages"), list) or not asked["messages"]:
            return _invalid("messages: at least one message is required")
        lint = lint_messages if dialect == "anthropic" else lint_chat
        problems = lint(body, _RULES[dialect])
    except (UnicodeError, ValueError, RecursionError):
        return _invalid("the body is not JSON")
    except WireError as error:
        return _invalid(str(error))
    if problems:
        first = problems[0]
        return _invalid(f"messages.{first.position}: {first.text} ({first.rule})")
    if dialect == "anthropic" and (text := _messages_only(asked, answered=answered)):
        return _invalid(text)
    return asked


def _messages_only(asked: Mapping[str, Any], *, answered: bool) -> str:
    """What only the Messages wire refuses; empty when it takes the request."""
    most = asked.get("max_tokens", 1 if not answered else None)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        return "max_tokens: a number of at least 1 is required"
    if any(message.get("role") == "system" for message in asked["messages"]):
        return 'messages: role "system" is not taken; use the member "system"'
    marks = _marks(asked)
    return f"{marks} blocks have cache_control; at most 4 are taken" if marks > 4 else ""


_HOLD_MARKS = {"tools", "system", "messages", "content"}


def _marks(value: object) -> int:
    if isinstance(value, dict):
        inner = (_marks(value[key]) for key in _HOLD_MARKS & value.keys())
        return ("cache_control" in value) + sum(inner)
    return sum(map(_marks, value)) if isinstance(value, list) else 0
