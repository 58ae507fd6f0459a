"""JSON of other programs, decoded into typed structs that name only the needed fields."""

import json
from collections.abc import Callable
from typing import TypeVar

import msgspec

from slicetape.errors import TranscriptError

T = TypeVar("T")


class Damaged(TranscriptError):
    """A record that is not JSON."""


class Unexpected(TranscriptError):
    """A record whose JSON has another shape than its format."""


def decoder(type: type[T]) -> Callable[[bytes], T]:
    """A function from JSON bytes to `type`.

    What no strict parser takes but programs write is read as well: lone surrogates in escapes
    and NaN. Everything else raises `Damaged` or `Unexpected`. Fields of `type` must not be
    `Raw`.
    """
    strict = msgspec.json.Decoder(type)

    def decode(data: bytes) -> T:
        try:
            return strict.decode(data)
        except msgspec.ValidationError as error:
            raise Unexpected(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _lenient(data, type, str(error))
        except RecursionError:
            raise Damaged("JSON is nested too deeply") from None

    return decode


def _lenient(data: bytes, type: type[T], problem: str) -> T:
    try:
        return msgspec.convert(json.loads(data), type)
    except msgspec.ValidationError as error:
        raise Unexpected(str(error)) from None
    except (ValueError, RecursionError):
        raise Damaged(problem) from None
