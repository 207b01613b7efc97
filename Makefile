# Every target makes what it needs, in .venv and build/ and nowhere else.
#
#   make setup   the virtual environment with all tools for development
#   make demo    real KV pages through software, C simulation and RTL co-simulation, with a report
#   make test    all tests: unit, C simulation, RTL co-simulation, cocotb
#   make lint    ruff, mypy, Verilator lint of the generated RTL
#   make rtl     regenerate the committed RTL of every design from its C++
#   make clean   remove build/ (and `make distclean` the virtual environment too)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
DESIGN ?= tiny

export SPECKV_BUILD ?= $(CURDIR)/build

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint rtl clean distclean
.DELETE_ON_ERROR:

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "missing: $(PYTHON). Install Python 3.10 or newer, or say PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "$(PYTHON) is too old: $$($(PYTHON) -V). Need Python 3.10 or newer" >&2; exit 1; }
	@command -v g++ >/dev/null || { echo "missing: g++. Install it (Debian: apt install g++)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "could not make $(VENV). On Debian: apt install python3-venv" >&2; exit 1; }

# What the demo needs: the simulators.
$(VENV)/.sim: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[sim]'
	@touch $@

# What tests and kernel development need.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[sim,synth,dev]'
	@touch $@ $(VENV)/.sim

setup: $(VENV)/.dev

demo: $(VENV)/.sim
	$(BIN)/speckv demo --design $(DESIGN)

test: $(VENV)/.dev
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python scripts/lint_rtl.py

rtl: $(VENV)/.dev
	$(BIN)/speckv rtl $(DESIGN)

clean:
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis

distclean: clean
	rm -rf $(VENV)
