"""Run the suite on every Python 3.11-3.14 of this machine, then try what users install.

Three parts: the tests under each interpreter; the built wheel in an environment that holds only
the core dependencies; an installation straight from the git repository with every extra.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run one command; a failure ends the script with its status."""
    sys.stdout.write(f"$ {' '.join(map(str, command))}\n")
    sys.stdout.flush()
    status = subprocess.run([str(word) for word in command], cwd=cwd, check=False).returncode
    if status:
        sys.exit(status)


def works(python: str, version: str) -> bool:
    """Whether `python` starts and is of that version: a version switch may leave dead names."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return ran.stdout.strip() == version


def pyenv_root() -> Path | None:
    """Where pyenv keeps its versions, if it is there."""
    if os.environ.get("PYENV_ROOT"):
        return Path(os.environ["PYENV_ROOT"])
    if shutil.which("pyenv") is None:
        return None
    ran = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False)
    return Path(ran.stdout.strip()) if ran.returncode == 0 else None


def find_python(version: str) -> str | None:
    """An interpreter of `version` on PATH or among pyenv's."""
    root = pyenv_root()
    kept = sorted((root / "versions").glob(f"{version}.*/bin/python")) if root else []
    on_path = [shutil.which(f"python{version}"), sys.executable]
    candidates = [*(path for path in on_path if path), *map(str, reversed(kept))]
    return next((path for path in candidates if works(path, version)), None)


def environment(python: str, folder: Path, *requirements: str) -> Path:
    """A fresh virtual environment with the locked requirements; returns its interpreter."""
    run(python, "-m", "venv", "--clear", folder)
    inside = folder / "bin" / "python"
    locked = [word for name in requirements for word in ("-r", ROOT / "requirements" / name)]
    run(inside, *PIP, "--require-hashes", *locked)
    return inside


def test_under(version: str, python: str) -> None:
    """The whole suite under one interpreter."""
    inside = environment(python, ROOT / f".venv-{version}", "all.txt", "dev.txt")
    run(inside, *PIP, "--no-deps", "--no-build-isolation", "-e", ROOT)
    run(inside, "-m", "pytest", "-n", "auto")


def try_wheel(folder: Path) -> None:
    """The wheel with nothing but the core dependencies writes, seals, recalls and reopens."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist")
    (wheel,) = (folder / "dist").glob("*.whl")
    inside = environment(sys.executable, folder / "wheel", "core.txt")
    run(inside, *PIP, "--no-deps", wheel)
    run(inside, "-I", ROOT / "scripts" / "wheel_check.py", cwd=folder)


def try_git(folder: Path) -> None:
    """`pip install git+file://…` of this checkout gives a working command with its demo."""
    inside = environment(sys.executable, folder / "git", "all.txt")
    run(inside, *PIP, f"git+{ROOT.as_uri()}")
    run(folder / "git" / "bin" / "slicetape", "--help", cwd=folder)
    run(folder / "git" / "bin" / "slicetape", "demo", cwd=folder)


def main() -> None:
    """Every part in turn; the first failure ends it."""
    found = {version: find_python(version) for version in VERSIONS}
    for version, python in found.items():
        if python is not None:
            test_under(version, python)
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(Path(folder))
        try_git(Path(folder))
    tried = [version for version, python in found.items() if python]
    absent = [version for version, python in found.items() if not python]
    sys.stdout.write(f"passed on Python {', '.join(tried)}, as a wheel and from git\n")
    if absent:
        sys.stdout.write(f"not on this machine: Python {', '.join(absent)}\n")


if __name__ == "__main__":
    main()
