"""Bring it back: log and locator in, verbatim text out.

It must not change the log, and it reads spilled originals only through `log`.
"""
