# mypy: ignore-errors
"""headroom: `compress()` before each request."""

from headroom import compress

MODEL = "gpt-4o"
"""The model that headroom counts tokens for."""


class Session:
    """Each request as it came, or, with `carry`, what was sent before and the new messages."""

    def __init__(self, settings):
        options = dict(settings)
        self.carry = options.pop("carry", False)
        self.freeze = options.pop("freeze", False)
        self.options = options
        self.messages = []
        self.kept = 0
        self.sent = []

    def take(self, messages, keep):
        """Hold the next request."""
        self.messages, self.kept = messages, keep

    def rewrite(self):
        """One `compress()`."""
        request = self.messages
        options = self.options
        if self.carry:
            request = self.sent[: self.kept] + self.messages[self.kept :]
        if self.freeze:
            options = {**options, "frozen_message_count": min(self.kept, len(self.sent))}
        result = compress(request, model=MODEL, **options)
        self.sent = list(result.messages)
        return self.sent

    def given(self, result):
        """The messages as `compress()` gave them."""
        return result
