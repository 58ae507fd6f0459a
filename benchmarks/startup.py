"""How long `import slicetape` takes and how long the command needs to start; prints JSON.

Each figure is the median of fresh interpreters: of the import alone, of the import with every
exported name fetched, and of the whole process `slicetape --help`.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time

RUNS = 15
TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
IMPORT = TIMED.format("import slicetape")
NAMES = TIMED.format("import slicetape; [getattr(slicetape, name) for name in slicetape.__all__]")


def imported(code: str) -> float:
    """Milliseconds that `code` says it took."""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return float(ran.stdout) * 1000


def started() -> float:
    """Milliseconds until `slicetape --help` has ended."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "slicetape.cli", "--help"]
    subprocess.run(command, capture_output=True, check=True)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Measure and print."""
    figures = {
        "import_ms": [imported(IMPORT) for _ in range(RUNS)],
        "all_names_ms": [imported(NAMES) for _ in range(RUNS)],
        "help_ms": [started() for _ in range(RUNS)],
    }
    medians = {name: round(statistics.median(found), 1) for name, found in figures.items()}
    print(json.dumps({"python": platform.python_version(), "cores": os.cpu_count(), **medians}))


if __name__ == "__main__":
    main()
