# Every target makes what it needs: tools in .venv, all else in build/ (or $SPECKV_BUILD). Only `make rtl` writes
# into the sources, to hls/rtl/DESIGN, and the checkers keep caches (.pytest_cache and the like), which `clean` removes.
#
#   make setup   the virtual environment with all tools for development
#   make demo    real KV pages through software, C simulation and RTL co-simulation, with a report
#   make test    all tests, JOBS (all cores) at a time: unit, C simulation, RTL co-simulation, cocotb, proofs
#   make lint    ruff, mypy, Verilator's and slang's lint of the committed RTL
#   make rtl     regenerate the committed RTL of DESIGN (default: tiny) from its C++; Python 3.11, or 3.13 and newer
#   make fuzz    both kernels' C++ under libFuzzer, SECONDS (60) each, which stops at any difference from the model
#   make prove   prove the properties of the RTL library, all of them
#   make clean   remove build/ and caches (`make distclean` the virtual environment too)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
DESIGN ?= tiny
SECONDS ?= 60
JOBS ?= $(shell nproc)

HAS_CIRCT = $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] == (3, 12))'
NO_CIRCT  = CIRCT has no wheel for Python 3.12, so that RTL cannot be made here: use Python 3.11, or 3.13 and newer

export SPECKV_BUILD ?= $(CURDIR)/build
# clang's and Yosys' own caches
export ZIG_GLOBAL_CACHE_DIR ?= $(CURDIR)/build/cache/zig
export YOWASP_CACHE_DIR ?= $(CURDIR)/build/cache/yowasp

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint rtl fuzz prove clean distclean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   \(make \)/\1/p' Makefile

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "missing: $(PYTHON). Install Python 3.11 or newer, or say PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is too old: $$($(PYTHON) -V). Need Python 3.11 or newer" >&2; exit 1; }
	@command -v g++ >/dev/null || { echo "missing: g++. Install it (Debian: apt install g++)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "could not make $(VENV). On Debian: apt install python3-venv" >&2; exit 1; }

# What the demo needs: the simulators.
$(VENV)/.sim: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[sim]'
	@touch $@

# What tests and kernel development need.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[sim,synth,formal,area,bench,fuzz,dev]'
	@$(HAS_CIRCT) || echo "note: $(NO_CIRCT)"
	@touch $@ $(VENV)/.sim

setup: $(VENV)/.dev

demo: $(VENV)/.sim
	$(BIN)/speckv demo --design $(DESIGN)

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/python scripts/lint_rtl.py

rtl: $(VENV)/.dev
	@$(HAS_CIRCT) || { echo "$(NO_CIRCT)" >&2; exit 1; }
	$(BIN)/speckv rtl $(DESIGN)

fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz/fuzz.py kv_decompress --seconds $(SECONDS)
	$(BIN)/python tests/fuzz/fuzz.py kv_compress --seconds $(SECONDS)

prove: $(VENV)/.dev
	$(BIN)/python -m hlsc.prove

clean:
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis

distclean: clean
	rm -rf $(VENV)
