# Needs Python 3.11 or newer and a network path to a Python package index; everything else is
# installed into .venv from the locked requirements. PYTHON=python3.12 chooses the interpreter.

PYTHON ?= python3
# Tests wait on sockets more than they compute.
TEST_WORKERS ?= 4
VENV := .venv
BACKEND ?= auto
SEED ?= 0
REPEATS ?= 1
AGENT ?= reference
CASES ?= cases/public
METRICS_PORT ?= 9464
RUN_OPTIONS = --backend $(BACKEND) --seed $(SEED) --repeats $(REPEATS) --agent '$(AGENT)' \
	$(if $(K),-k '$(K)') $(if $(RUN),--run '$(RUN)') $(if $(PROFILE),--profile '$(PROFILE)') $(OPTIONS)
BIN := $(VENV)/bin
# Stamps in one environment: what runs need, the two packages of this repository, what tests need.
RUNTIME := $(VENV)/.runtime
INSTALLED := $(VENV)/.installed
DEVELOP := $(VENV)/.develop
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# uv reads none of pip's configuration, so it gets pip's index where the environment names one. Where
# only pip.conf names one, uv may fail to reach an index; pip then installs from the same locks.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
# Bytecode is compiled once here: where PYTHONDONTWRITEBYTECODE is set, as in many containers, every
# process would else compile all that it imports.
UV := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
LOCKED = $(UV) --require-hashes --no-build-isolation -r $(1) \
	|| $(PIP) install --require-hashes --no-build-isolation -r $(1)
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help smoke run_public report check_cases develop test e2e_local e2e-docker e2e-kubernetes e2e-kubernetes-long e2e-metrics metrics-pictures engine observe cluster lint format dashboards schemas families index lock dist clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9_-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' Makefile

smoke: $(INSTALLED) ## Run the smoke case on one phone
	@$(BIN)/emufarm run cases/smoke --devices 1 $(RUN_OPTIONS)

run_public: $(INSTALLED) ## Run the public cases (DEVICES SEED REPEATS AGENT CASES K RUN BACKEND PROFILE OPTIONS)
	@$(BIN)/emufarm run $(CASES) $(if $(DEVICES),--devices $(DEVICES)) $(RUN_OPTIONS)

report: $(INSTALLED) ## Report the latest run, or RUN=name, into runs/report.json
	@$(BIN)/emufarm report $(if $(RUN),'runs/$(RUN)')

check_cases: $(INSTALLED) ## Prove every case by its controls
	@$(BIN)/emufarm cases check $(CASES) $(if $(DEVICES),--devices $(DEVICES)) $(if $(K),-k '$(K)')

develop: $(DEVELOP) ## Install everything that tests and checks need into .venv

test: lint ## Run every check, then every test
	@$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal
	@cd simphone && ../$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal

e2e_local: $(DEVELOP) ## Whole runs on the embedded fleet, killed and resumed, and from installed wheels; takes minutes
	@$(BIN)/pytest -m e2e -n 3 --dist load --maxschedchunk 1 tests/e2e/test_wheel.py tests/e2e/test_local.py tests/e2e/test_confined.py

e2e-docker: $(DEVELOP) ## All that needs a Docker engine; as root it installs and starts one where none answers
	@$(BIN)/pytest -m docker

engine: $(DEVELOP) ## A Docker engine for you to try things on, as root, until Ctrl-C; says how to use it
	@$(BIN)/python tests/e2e/engine.py

e2e-kubernetes: $(DEVELOP) ## All that needs a Kubernetes cluster; as root it builds and starts one, in minutes the first time
	@$(BIN)/python -m tests.e2e.cluster build
	@$(BIN)/pytest -m 'kubernetes and not kubernetes_long'

e2e-kubernetes-long: $(DEVELOP) ## The same with every fault of a cluster; takes most of an hour
	@$(BIN)/python -m tests.e2e.cluster build
	@$(BIN)/pytest -m kubernetes

e2e-metrics: $(DEVELOP) ## All that needs a Prometheus; as root it installs Debian's
	@$(BIN)/pytest -m metrics

metrics-pictures: $(DEVELOP) ## Write docs/metrics.md's panels and pictures again, from real runs under a Prometheus
	@EMUFARM_KEEP_PICTURES=1 $(BIN)/pytest -m metrics tests/e2e/test_metrics.py

observe: $(DEVELOP) ## A Prometheus that watches a local run until Ctrl-C (METRICS_PORT INTERVAL)
	@$(BIN)/python -m tests.e2e.prometheus --port $(METRICS_PORT) $(if $(INTERVAL),--interval $(INTERVAL))

cluster: $(DEVELOP) ## A Kubernetes cluster of two nodes for you to try things on, as root, until Ctrl-C (NODES=0: without)
	@$(BIN)/python -m tests.e2e.cluster run $(if $(NODES),--nodes $(NODES))

lint: $(DEVELOP) ## Check format, style, types, layers and Dockerfiles
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@cd simphone && ../$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/hadolint Dockerfile.emulator images/worker/Dockerfile examples/agent_image/Dockerfile

format: $(DEVELOP) ## Rewrite the code in the project's format
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format

dashboards: $(DEVELOP) ## Write the dashboards' JSON and the operator's rules in k8s/monitoring/ again
	@$(BIN)/python -m k8s.monitoring.source

schemas: $(DEVELOP) ## Write the JSON Schemas of docs/schema/ again, after a changed model
	@$(BIN)/emufarm schema --write docs/schema

families: $(INSTALLED) ## Write the table of metric families into docs/metrics.md again, after a changed one
	@$(BIN)/python docs/families.py --write

index: ## Print the path and first line of every module (WRITE=1: into docs/architecture.md)
	@$(PYTHON) docs/index.py $(if $(WRITE),--write)

lock: $(RUNTIME) ## Pin versions and hashes after a changed requirements*.in (UPGRADE=1: the newest of all)
	@$(COMPILE) requirements-installer.in --output-file requirements-installer.txt
	@$(COMPILE) requirements-build.in --output-file requirements-build.txt
	@$(COMPILE) requirements.in simphone/pyproject.toml --output-file requirements.txt
	@$(COMPILE) requirements-dev.in simphone/pyproject.toml --output-file requirements-dev.txt

dist: $(RUNTIME) ## Build the wheels and source archives of both packages into dist/, from a clean copy
	@rm -rf dist && mkdir -p dist/source
	@git archive HEAD | tar -x -C dist/source
	@for package in dist/source/simphone dist/source; do \
		$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist $$package || exit; done
	@rm -rf dist/source dist/.gitignore

clean: ## Remove the virtual environment and every cache; runs/ stays
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The build backend comes before the rest, so that nothing is built with an unlocked one.
$(RUNTIME): requirements-installer.txt requirements-build.txt requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "emufarm needs Python 3.11 or newer; '$(PYTHON)' is not: name one with PYTHON=/path/to/python3." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make a virtual environment; on Debian or Ubuntu: apt-get install python3-venv." >&2; exit 2; }
	@echo "Installing the locked requirements into $(VENV), once for each lock ..." >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --require-hashes -r requirements-installer.txt
	@$(call LOCKED,requirements-build.txt)
	@$(call LOCKED,requirements.txt)
	@touch $@

$(INSTALLED): $(RUNTIME) pyproject.toml requirements-simphone.in simphone/pyproject.toml
	@$(UV) --no-deps --no-build-isolation --editable ./simphone --editable .
	@$(BIN)/python -m compileall -q orchestrator simphone/src
	@touch $@

$(DEVELOP): $(INSTALLED) requirements-dev.txt
	@echo "Installing the locked test tools into $(VENV) ..." >&2
	@$(call LOCKED,requirements-dev.txt)
	@touch $@
