# Needs Python 3.11+ and make; everything else is installed into .venv from .ci/requirements.txt.
# PYTHON=python3.12 make test     another interpreter
# CI=true make test               tests the built wheel, and a missing program is a failure

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types check bench dev ingresses pins clean

demo: $(STAMP)
	@$(BIN)/python -m docs.examples.demo

test: lint types check pytest

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/pyright

# Without the examples that are wrong on purpose, which tests/tools_check/test_own_repository.py holds.
EXAMPLES := $(shell find docs/examples -name '*.py' -not -path '*/demo/*')
LISTED := registry connectors tools_check docs/examples

check: $(STAMP)
	$(BIN)/tools-check registry connectors tools_check $(EXAMPLES)
	$(BIN)/tools-check inventory $(LISTED) --check docs/ingresses.md
	$(BIN)/tools-check cases

pytest: $(STAMP)
ifdef CI
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .
endif
	$(BIN)/pytest --numprocesses 2 --dist loadscope

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks

dev: $(STAMP)

# The committed list of ways in; read what it adds before you commit it.
ingresses: $(STAMP)
	$(BIN)/tools-check inventory $(LISTED) --write docs/ingresses.md

$(STAMP): .ci/requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "hedgerow needs Python 3.11 or newer; this is %s. Write PYTHON=python3.12 make ..." % sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r .ci/requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# Rewrites the pins: lower bounds live in pyproject.toml, exact versions with hashes in .ci/requirements.txt.
pins: $(STAMP)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 \
	  --all-extras --group dev pyproject.toml --output-file .ci/requirements.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*
