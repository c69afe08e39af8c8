# For a machine that has only Python and make. `make` alone lists the targets.

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# A stamp is as new as the last install of that extra; only pyproject.toml makes it old, since the
# install is editable. tests/test_packaging.py holds the wheel to the same bytes.
RUN := $(VENV)/installed-run
TEST := $(VENV)/installed-test
BENCH := $(VENV)/installed-bench

.DEFAULT_GOAL := help
.PHONY: help demo test coverage soak bench lint format clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\): .*## \(.*\)/  make \1	\2/p' Makefile

demo: $(RUN) ## Install memlog into .venv and run its demo
	@$(BIN)/memlog demo

test: lint ## Run everything that CI runs: lint, types, tests
	$(BIN)/python -m pytest -n $(WORKERS)

coverage: $(TEST) ## Run the tests and show which lines and branches they reach
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term

soak: $(TEST) ## Run the tests with many more random examples (takes long)
	MEMLOG_HYPOTHESIS=soak $(BIN)/python -m pytest -n $(WORKERS)

bench: $(BENCH) ## Measure writes and replay against their peers
	$(BIN)/python -m benchmarks.write
	$(BIN)/python -m benchmarks.replay
	$(BIN)/python -m benchmarks.audit

lint: $(TEST) ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(TEST) ## Format the code and repair what ruff can repair
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## Remove what builds and tools left behind (.venv and failing examples stay)
	rm -rf build dist htmlcov .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache
	find memlog projections tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +

$(RUN): pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(TEST): pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test]'
	@touch $(RUN) $@

$(BENCH): pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[bench]'
	@touch $(RUN) $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "memlog needs Python 3.11 or newer, and '$(PYTHON)' is not:" \
	    "$$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; }
