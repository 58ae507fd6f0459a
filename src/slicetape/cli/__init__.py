"""What people type: one file a command, loaded when it is asked for.

It must not know anything that a library user could need: a command reads its arguments, calls the
layers below, and prints.
"""

import sys

__all__ = ["main"]

_NEEDED = ("click", "rich")


def main() -> None:
    """Run the program with the arguments of the process, and end the process."""
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"error: the command line needs {' and '.join(missing)}, which are not installed.\n"
            "Install them with: pip install 'slicetape[cli]'\n"
        )
        sys.exit(2)
    from slicetape.cli.program import run

    sys.exit(run(sys.argv[1:]))
