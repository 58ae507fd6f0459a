"""The items of a JSON text."""

from dataclasses import dataclass
from typing import Any, Literal

from slicetape.policy.views import javascript
from slicetape.policy.views.rules import Rules


@dataclass(frozen=True, slots=True)
class Items:
    """Items as compact texts and as values. `form` says what they stand in."""

    texts: list[Any]
    values: list[Any]
    form: Literal["array", "object", "lines"]
    rest: str = ""
    field: str = ""

    def text(self, index: int) -> str:
        text = self.texts[index]
        return text if isinstance(text, str) else bytes(text).decode()

    def frame(self, shown: list[str]) -> str:
        """The view around item lines and gaps."""
        if self.form == "lines":
            return "\n".join(shown)
        body = "[\n" + ",\n".join(shown) + "\n]"
        return body if self.form == "array" else f"{self.rest}\n{self.field}: {body}"


def items_of(text: str, rules: Rules) -> Items | None:
    """The items of a text, None when it is no JSON or has none."""
    text = text.strip().strip("\ufeff").strip()
    if not text or text[0] not in "[{" or text[-1] not in "]}":
        return None
    try:
        value = javascript.parse(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        return Items([javascript.write(v) for v in value], value, "array")
    arrays = [(k, v) for k, v in value.items() if isinstance(v, list) and len(v) >= 2]
    if not arrays:
        return None
    name, items = max(arrays, key=lambda pair: len(pair[1]))
    rest = {k: v for k, v in value.items() if k != name}
    return Items(
        [javascript.write(v) for v in items],
        items,
        "object",
        javascript.write(rest),
        javascript.write(name),
    )
