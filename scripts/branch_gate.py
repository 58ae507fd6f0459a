"""Fail when the branches covered by the last test run are below a limit in percent.

Says nothing when the gate holds, so that a test run ends with its own summary.
"""

import io
import json
import sys
import tempfile
from pathlib import Path

import coverage


def branches(totals: dict[str, int]) -> float:
    """Percent of the branches that were taken; 100 when there are none."""
    number = totals["num_branches"]
    return 100.0 if number == 0 else 100.0 * totals["covered_branches"] / number


def main(limit: float) -> int:
    """Read `.coverage`; return the exit status."""
    measured = coverage.Coverage()
    measured.load()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "coverage.json"
        sys.stdout, kept = io.StringIO(), sys.stdout
        try:
            measured.json_report(outfile=str(out))
        finally:
            sys.stdout = kept
        report = json.loads(out.read_text())
    percent = branches(report["totals"])
    if percent >= limit:
        return 0
    worst = sorted(report["files"].items(), key=lambda row: branches(row[1]["summary"]))[:10]
    sys.stderr.write(f"branch coverage {percent:.1f} % is below {limit:g} %; lowest:\n")
    for name, row in worst:
        sys.stderr.write(f"  {branches(row['summary']):5.1f} %  {name}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
