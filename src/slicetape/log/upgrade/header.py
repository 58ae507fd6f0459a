"""The first line of a log of any format."""

from typing import Any

from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.upgrade.rows import Json, is_count, parse, shown
from slicetape.log.upgrade.v2 import preset

NEWEST = 4


def read_header(line: bytes) -> Json:
    """The header on a file's first line, of a format that can be migrated."""
    header = parse(line, 1)
    check_header(header)
    return header


def check_header(header: Json) -> None:
    """Raise DamagedLog for something that is no header, UnsupportedFormat for a newer one."""
    version: Any = header.get("version")
    if header.get("type") != "session" or not is_count(version):
        raise DamagedLog("line 1 is no session header (type session and a version are expected)")
    if version > NEWEST:
        raise UnsupportedFormat(
            f"format {shown(version)} is newer than {NEWEST}, the newest that can be read; "
            "a newer slicetape may read it"
        )
    if not isinstance(header.get("id"), str) or type(header.get("createdAt")) is not int:
        raise DamagedLog("line 1: the session header needs an id and createdAt")


def header_3(header: Json) -> Json:
    """The header that the migrated log starts with."""
    check_header(header)
    out = {**header, "version": 3}
    if header["version"] in {3, 4}:
        return out
    if header["version"] < 2:
        out = _seeded(out)
    out.setdefault("delegationDepth", 0)
    if "agentPreset" in out:
        out["agentPreset"] = preset(out["agentPreset"])
    return out


def seed_length(header: Json) -> int | None:
    """How many events a session of format 0 or 1 inherited; None when it inherited nothing."""
    length = header.get("seedLength")
    if length is not None and not is_count(length):
        raise DamagedLog("line 1: seedLength must be a number of events")
    return length if is_count(length) else None


def _seeded(header: Json) -> Json:
    """`isSeeded` in the place of `seedLength`, behind where the session comes from."""
    front = ("type", "version", "id", "createdAt", "cwd", "parentSession")
    out = {key: header[key] for key in front if key in header}
    out["isSeeded"] = seed_length(header) is not None
    rest = {key: value for key, value in header.items() if key not in out and key != "seedLength"}
    return out | rest
