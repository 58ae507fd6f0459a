# Everything here sets itself up: only Python >= 3.11 has to be on the machine.
.PHONY: setup demo test test-all e2e e2e-local lint lock bench clean

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export SLICETAPE_DATA ?= $(shell test -d ../shared/data && cd ../shared/data && pwd)
COVERED := errors log surface policy recall

setup: $(STAMP)

$(STAMP): requirements/all.txt requirements/dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements/all.txt -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation -e .
	@touch $@

demo: setup
	@$(BIN)/slicetape demo

test: setup
	$(BIN)/python -m pytest -n auto $(COVERED:%=--cov=slicetape.%) --cov-branch \
		--cov-report= --cov-fail-under=95
	@$(BIN)/python scripts/branch_gate.py 95

test-all: test
	$(BIN)/python scripts/test_all.py

e2e: setup
	@$(BIN)/python scripts/e2e.py

e2e-local: setup
	@$(BIN)/python scripts/e2e_local.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Newest releases that satisfy pyproject.toml and requirements/dev.in, with hashes.
LOCK := CUSTOM_COMPILE_COMMAND="make lock" $(abspath $(BIN))/pip-compile --quiet --upgrade \
	--generate-hashes --strip-extras --allow-unsafe --no-emit-options --no-emit-index-url \
	--no-emit-find-links --no-emit-trusted-host
EXTRAS := cli tokens openai anthropic

lock: setup
	$(LOCK) -o requirements/core.txt pyproject.toml
	$(LOCK) $(EXTRAS:%=--extra %) -o requirements/all.txt pyproject.toml
	$(LOCK) -o requirements/dev.txt requirements/dev.in

bench: setup
	@for script in benchmarks/*.py; do $(BIN)/python "$$script" || exit 1; done

clean:
	rm -rf $(VENV) .venv-* dist build .coverage .pytest_cache .mypy_cache .ruff_cache
