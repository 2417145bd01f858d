# One command sets up (make setup, which every other target does first), one checks (make check).

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup components demo scenarios study check format test accept bench docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "%-12s %s\n", $$1, $$2 }'

setup: $(VENV)/.ready ## a .venv with the locked packages and .venv/bin/hati

$(VENV)/.ready: pyproject.toml uv.lock scripts/setup
	@PYTHON="$(PYTHON)" sh scripts/setup $(VENV)
	@touch $@

components: setup ## install by apt what some tests and benchmarks need, where that is permitted
	@sh scripts/components

demo: setup ## which of SQLite's 14 options decide its speed: a minute
	@$(BIN)/hati space count examples/sqlite
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/hati screen examples/sqlite --metric latency --budget 96 --seed 1 --fresh

scenarios: setup ## Skoll's four scenarios on a C program with planted configuration faults: two minutes
	@$(BIN)/python -m examples.journal.scenarios

study: setup ## the feasibility study of the RES paper on SQLite (measured here, 15 minutes and more; resumable) and TAO
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m examples.study

check: setup ## lint, format, types, import contract, names
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/check_names.py

format: setup ## fix what ruff can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

test: setup ## unit, property, contract, statistical, documentation and short end-to-end tests: under ten minutes on two cores
	@$(PYTEST) -m "not acceptance" -n 2 --dist loadgroup

# Several processes at once: threads of BLAS would only get in their way.
test accept: export OPENBLAS_NUM_THREADS = 1
# pytest keeps the modules that it has rewritten: otherwise every process rewrites all of them, half of the collection.
test accept: export PYTHONDONTWRITEBYTECODE =

accept: setup ## long campaigns with real components
	@$(PYTEST) -m "acceptance and not alone" -n 2 --dist loadgroup
	@$(PYTEST) -m "acceptance and alone"

bench: setup ## speed and accuracy side by side with peers, as Markdown
	@$(BIN)/python -m benchmarks

docs: setup ## the documentation as a site, in site/
	@$(BIN)/mkdocs build --strict --quiet

clean: ## remove what was made, but not .hati stores
	rm -rf $(VENV) site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
