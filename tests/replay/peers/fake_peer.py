"""A peer for tests: does to each request what the settings of its session say."""

import os
import sys
import time
from pathlib import Path


class Session:
    def __init__(self, settings):
        self.do = settings.get("do", "nothing")
        self.messages = []
        self.asked = 0
        if self.do == "refuse":
            raise ValueError("unknown setting\nin two lines")
        if self.do == "die at once":
            sys.exit("no such library")

    def take(self, messages, keep):
        self.messages = messages
        self.asked += 1

    def rewrite(self):
        return getattr(self, self.do.replace(" ", "_"))()

    def given(self, result):
        return result

    def nothing(self):
        return self.messages

    def copy(self):
        return [dict(message) for message in self.messages]

    def talk(self):
        sys.stdout.write("a library that talks\n")
        return self.messages

    def clear(self):
        """Blank every result but the last, in new objects each time."""
        tools = [at for at, message in enumerate(self.messages) if message["role"] == "tool"]
        return [
            {**message, "content": "[cleared]"} if at in tools[:-1] else message
            for at, message in enumerate(self.messages)
        ]

    def first_lines(self):
        """Each result is cut when it comes."""
        return [
            {**m, "content": m["content"].split("\n")[0]} if m["role"] == "tool" else m
            for m in self.messages
        ]

    def drop(self):
        """Only the newest messages."""
        return self.messages[-3:]

    def pictures(self):
        parts = [
            {"type": "text", "text": "a page"},
            {"type": "image_url", "image_url": {"url": "data:,"}},
        ]
        return [{"role": "user", "content": parts}]

    def fail_at_second(self):
        if self.asked == 2:
            raise RuntimeError("out of luck " * 100)
        return self.messages

    def hang(self):
        time.sleep(60)

    def die(self):
        sys.stderr.write("fatal: heap is full\n")
        sys.stderr.flush()
        os._exit(3)

    def die_quietly(self):
        os._exit(3)

    def numbers(self):
        return [{"role": 5}]

    def scribble(self):
        """Write where only answers belong."""
        os.write(3, b"chatter\n")
        return self.messages

    def eat(self):
        return ["x" * (1 << 30)]

    def tell_environment(self):
        told = " ".join(sorted(os.environ))
        return [{"role": "user", "content": f"{told} in {Path.cwd()}"}]
