"""Suite-wide rules: the same examples on every run, and a count of conformance tests."""

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

import data

_SLOW = [HealthCheck.too_slow]
settings.register_profile(
    "fixed",
    derandomize=True,
    max_examples=100,
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=_SLOW,
)
settings.register_profile(
    "wide", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

_MARK = ("conformance", "shared data")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    reads = item.nodeid in data.READING_TESTS or str(item.path) in data.READING_FILES
    if call.when == "call" and reads:
        item.user_properties.append(_MARK)
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ran = sum(
        report.when == "call" and _MARK in map(tuple, report.user_properties)
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
    )
    terminalreporter.write_line(f"conformance tests: {ran} ran")
