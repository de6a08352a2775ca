# `make demo` and `make test` are all a fresh machine needs: each makes the environment first.
PYTHON ?= python3
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable
USABLE := $(VENV)/.usable
READY := $(VENV)/.ready
SUITE := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# Tests start many processes, and each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo serve demo-postgres test suite deep check changed torture integrations lint audit bench docs locked lock sbom clean

demo: $(USABLE)
	$(BIN)/salience demo

# A server with the memories of the demo, and three calls to try.
serve: $(USABLE)
	$(BIN)/salience serve --sample

# The demo on a PostgreSQL server that is started for it.
demo-postgres: $(READY)
	$(BIN)/python -m salience.testing.postgres sh -c '$(BIN)/salience demo --db "$$SALIENCE_DB"'

# Linters and types beside the suite: alone they would keep one core busy.
test: $(READY)
	$(MAKE) --jobs=2 lint suite

suite: $(READY)
	$(SUITE) -m "not deep"

# All that `make test` leaves out, and each property on more examples; then, to be read, what each
# method takes by the number of memories.
deep: $(READY)
	$(SUITE) -m "deep or hypothesis" --hypothesis-profile=deep
	$(BIN)/python benchmarks/costs.py methods 500 5000

# Before each commit: the tests of what has changed.
check: $(READY)
	$(MAKE) --jobs=2 lint changed

changed: $(READY)
	tests=$$($(BIN)/python tools/changed_tests.py); [ -z "$$tests" ] || \
		$(SUITE) -m "not deep" $$tests || [ $$? = 5 ]

# Kills, faults, concurrent histories and hostile input, for hours; SCALE=0.1 for a tenth.
torture: $(READY)
	PYTHONPATH=tests $(BIN)/python -m torture --scale $(or $(SCALE),1) $(if $(ATTACKS),--attacks $(ATTACKS))

# The adapters, each beside its framework in an environment of its own; ONLY=langgraph for one.
integrations: $(READY)
	$(BIN)/python tools/integrations.py $(ONLY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Insecure patterns in the code; pyproject.toml says why which rules are skipped.
audit: $(READY)
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src tools

# The environment of development with the versions that the lock file names, each by its hash.
locked: $(USABLE)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $(READY)

# Renew the lock file, for every Python from 3.11 on.
lock: $(READY)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --extra dev pyproject.toml --output-file requirements-dev.lock

# What is installed, as a software bill of materials in CycloneDX's format.
sbom: $(READY)
	mkdir -p build
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-file build/sbom.json $(BIN)/python
	@echo "build/sbom.json"

bench: $(READY)
	$(BIN)/salience bench --memories 10000
	$(BIN)/salience bench --memories 100000

# The documentation as a site, which opens without a server.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html"

$(BIN)/pip:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "salience needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

# The command line and the server.
$(USABLE): pyproject.toml hatch_build.py src/salience_native.c | $(BIN)/pip
	$(INSTALL) ".[server]"
	touch $(USABLE)

# These, and what the tests need.
$(READY): pyproject.toml hatch_build.py src/salience_native.c | $(BIN)/pip
	$(INSTALL) ".[dev]"
	touch $(USABLE) $(READY)

clean:
	rm -rf $(VENV) .venv-integrations build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf src/salience_native*.so src/salience_native*.pyd src/salience/embedders/wordllama
	rm -rf clients/typescript/node_modules clients/typescript/dist clients/typescript/build
