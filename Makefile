# Every target has a line of help; `make help` prints them.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
BIN := $(VENV)/bin
# As many test processes as the machine carries: TEST_PROCESSES=4 for another number, 0 for one.
# A user who may make no networks is root of a user namespace, if the kernel allows it.
NETWORKS := $(BIN)/python -m tests.live.networks
PYTEST = $(NETWORKS) $(BIN)/pytest --numprocesses=$(or $(TEST_PROCESSES),$(shell $(BIN)/python -m tests.live.processcount)) --dist=loadfile --no-loadscope-reorder --durations=40
# What goes wrong around the operator: eight minutes, most of which it waits.
RESILIENCE := tests/cluster/tenants tests/cluster/surroundings tests/faults
# The ways to install, what watches the operator, and every command of the documents: eight minutes.
PRODUCTION := tests/production tests/manuals
# What compares what a machine takes with a bound; it runs alone.
TIMINGS := tests/timings

# A line for each disk that has too little room for .venv, pip's cache or its temporary files.
FULL := df --output=avail,target . "$${TMPDIR:-/tmp}" "$${HOME:-/}" | sort -u | awk '$$1 < 600000 { sub(" *[0-9]+ ", ""); \
	print "the disk of " $$0 " is nearly full: make room there, and do this again" }'

.PHONY: help
help: ## List every target
	@awk 'BEGIN {FS = ":.*## "} /^[a-zA-Z0-9_-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		f"Python 3.11 is needed, {sys.executable} is {sys.version.split()[0]}: make PYTHON=...")'
	@test ! -L $(VENV) || { echo "$(VENV) is a link to $$(readlink $(VENV)), whose packages are older than" \
		"requirements/dev.txt: run make setup there, or remove the link"; exit 1; } >&2
	@exec 9< $<; flock --nonblock 9 || { echo "waiting for another make, which sets up $(VENV)"; flock 9; }; \
	if [ $@ -nt $< ]; then exit 0; fi; \
	echo "setting up $(VENV) (once; 20 seconds, or some minutes on a busy machine)"; \
	trap 'echo "stopped; make setup begins it again" >&2; exit 130' INT; \
	said=$$($(PYTHON) -m venv --clear $(VENV) 2>&1) || { echo "$$said"; $(FULL); exit 1; } >&2; \
	{ $(BIN)/pip install --no-compile --disable-pip-version-check --require-hashes --requirement $< && touch $@; } | \
		sed --unbuffered --quiet 's/^ *\(Downloading\|Using cached\|Installing\) \([^,:]*\).*/  \1 \2/p'; test -e $@ || { $(FULL); exit 1; } >&2

.PHONY: setup
setup: $(STAMP) ## Make .venv with the locked dependencies

.PHONY: format
format: $(STAMP) ## Format the code and sort its imports
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

.PHONY: lint
lint: $(STAMP) ## Check format and lint
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check .

.PHONY: types
types: $(STAMP) ## Check the types (strict)
	$(BIN)/mypy

.PHONY: unit
unit: $(STAMP) ## Run the unit tests
	$(BIN)/pytest tests/unit

.PHONY: mutants
mutants: $(STAMP) ## Break the operator in every listed way; each has to fail the tests
	@$(BIN)/python -m tests.faults.mutants $(NAME)

.PHONY: check
check: lint types unit ## Format, lint, types and unit tests

.PHONY: run
run: $(STAMP) ## Train a job from nothing (5 to 15 minutes the first time, then 35 s), on a cluster of its own: FILE=job.yaml IMAGES=table.yaml
	@$(BIN)/python -m examples.quickstart $(FILE) $(addprefix --images=,$(IMAGES))

.PHONY: manual
manual: $(STAMP) ## Run the operator's manual with kubectl, from install to uninstall, and show it
	@$(BIN)/python -m tests.manuals.operator_manual

.PHONY: prepare
prepare: $(STAMP) ## Build and install what the tests need, once per user
	@$(BIN)/python -m tests.live.prepare

.PHONY: packages
packages: $(STAMP) ## Install the packages of Debian that some tests need; says what it cannot install
	@$(BIN)/python -m tests.live.debian

.PHONY: test
test: prepare ## Run every test of what the operator does: unit, on a real API server, real training
	$(PYTEST) $(addprefix --ignore=,$(RESILIENCE) $(PRODUCTION) $(TIMINGS) tests/e2e)

.PHONY: resilience
resilience: prepare ## Run the tests of hostile tenants, failing surroundings and faults at random
	$(PYTEST) $(RESILIENCE)

.PHONY: timings
timings: prepare ## Run the tests of what takes time, processor or memory: alone, in one process, on a quiet machine
	$(NETWORKS) $(BIN)/pytest $(TIMINGS) --durations=20

.PHONY: test-again
test-again: $(STAMP) ## Run the files of the tests that failed last once more, one after the other
	files=$$($(BIN)/python -m tests.live.failed) && $(NETWORKS) $(BIN)/pytest $$files

.PHONY: production
production: prepare ## Run the tests of installation and monitoring, with Helm, kustomize and Prometheus built from source, and every command of the documents
	@$(BIN)/python -m tests.live.installers
	$(PYTEST) $(PRODUCTION)

.PHONY: e2e
e2e: $(STAMP) ## Run the tests on a real node: kubelet, containerd, CoreDNS, images; root alone may; TESTS=files
	@$(BIN)/python -m tests.e2e $(TESTS)

.PHONY: pythons
pythons: $(STAMP) ## Run the unit tests and train a job on every other Python from 3.11 that is here; UNIT=1: the newest's unit tests alone, TESTS=files of them
	@$(BIN)/python -m tests.live.pythons $(if $(UNIT),--unit $(TESTS))

.PHONY: cluster-binaries
cluster-binaries: $(STAMP) ## Build etcd and Kubernetes for the local cluster, once per user
	@$(BIN)/python -m localcluster up --build-only

.PHONY: up
up: $(STAMP) ## Start a local cluster in the background, prints how kubectl finds it: NODES=2 IMAGES=table.yaml
	@$(BIN)/python -m localcluster up $(if $(NODES),--nodes=$(NODES)) $(addprefix --images=,$(IMAGES))

.PHONY: down
down: $(STAMP) ## Stop the local cluster
	@$(BIN)/python -m localcluster down

.PHONY: pictures
pictures: prepare ## Renew the pictures of docs/tools.md from the page of kubectl pdj ui
	@PDJ_PICTURES=1 $(BIN)/pytest tests/cluster/ui/test_page.py -k test_the_documents_show_the_page

.PHONY: pdj
pdj: $(STAMP) ## Build kubectl pdj as one file, build/kubectl-pdj, which needs Python 3.11 and nothing else
	@$(BIN)/python -m release.build build/kubectl-pdj

.PHONY: wheel
wheel: ## Build the Python client as a wheel, build/paddlejob-*.whl; it needs Python 3.11 and nothing else
	@$(PYTHON) -m release.wheel build

SITE := build/site

$(SITE)/env/.installed: requirements/site.txt
	@$(PYTHON) -m venv --clear $(SITE)/env
	@$(SITE)/env/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

.PHONY: site
site: $(STAMP) $(SITE)/env/.installed ## Make a site of the documents, build/site/site; fails on links and anchors that lead nowhere
	@$(BIN)/python -m release.site $(SITE)
	@$(SITE)/env/bin/zensical build --strict --config-file $(SITE)/zensical.toml

# Where the files of a release will lie, and its image: `make release REPOSITORY=... IMAGE=...`.
export REPOSITORY ?=
.PHONY: release
release: site ## Build all files of a release, build/release-<version>: REPOSITORY=https://github.com/you/your-fork IMAGE=registry/name
	@$(BIN)/python -m release.folder $(SITE)/site \
		$(or $(IMAGE),paddlejob-operator) $(or $(REPOSITORY),https://github.com/OWNER/paddlejob-operator)

.PHONY: generate
generate: $(STAMP) ## Write the generated manifests
	@$(BIN)/python -m manifests

.PHONY: generate-check
generate-check: $(STAMP) ## Fail when a generated manifest is stale
	@$(BIN)/python -m manifests --check

.PHONY: openapi
openapi: $(STAMP) ## Renew the pod template's schema from the cluster that kubectl finds
	@kubectl get --raw /openapi/v3/api/v1 | $(BIN)/python -m manifests.openapi

.PHONY: explore
explore: $(STAMP) ## Let each write of each story of a job fail, and each watch fall behind there, in memory
	@$(BIN)/python -m tests.faults.explore

.PHONY: soak
soak: $(STAMP) ## Let everything fail at random for MINUTES=30 and check what must hold; SEED=... for the same again
	@$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

.PHONY: bench
bench: $(STAMP) ## Measure the operator: benchmarks/RESULTS.md; QUICK=1 small sizes, CHECK=1 fail on broken budgets
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick,--output benchmarks) $(if $(CHECK),--check) $(BENCH_ARGUMENTS)
