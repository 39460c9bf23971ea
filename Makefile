# Every target sets itself up: an environment of its own in .venv, from pyproject.toml and constraints.txt.
# To use an active environment instead, leave VENV empty: `make test VENV=`.
VENV ?= .venv
PYTHON ?= python3
# Tiny nets run fastest on one thread; the printed numbers are the same on any number.
export OMP_NUM_THREADS ?= 1
# A progress bar in a stored output would never compare equal.
export TQDM_DISABLE ?= 1

ifeq ($(strip $(VENV)),)
RUN := $(PYTHON)
READY := check-active
else
RUN := $(VENV)/bin/python
READY := $(VENV)/ready
endif

# The digits must hold although each initial weight w moves by 1e-10 (1 + |w|), as another processor would move it; with
# PERTURB=0 nothing moves. On the way the figures are measured: nothing cut off, nothing on top of another.
PERTURB ?= 1e-10
NBVAL = PYTHONPATH="$(CURDIR)/tests/at_start" UQLIB_MEASURE=1 UQLIB_PERTURB=$(PERTURB) $(RUN) -m pytest -q --nbval --nbval-current-env --nbval-cell-timeout 300 -n 2 --dist loadscope notebooks

.DEFAULT_GOAL := help
.PHONY: help notebooks test lint unit nbval test-matrix test-interrupted refresh reference figures figures-check animations release slides site student instructor lab bench bench-peers clean check-active

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1|/' | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

notebooks: $(READY) ## run every notebook; executed copies, HTML and figures go below build/
	@$(RUN) -m uqlib run

test: lint unit nbval ## lint, unit tests, and every notebook compared with its stored outputs

lint: $(READY) ## style of package, tests, scripts and notebooks
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check uqlib tests data docs

# beartype would raise its own error before ours, so the tests of bad input run without it, as the slow ones do.
# A file stays with one worker: what it builds for its tests, a site or decks, is built once.
unit: $(READY) ## unit tests, most of them with every annotation enforced
	@$(RUN) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "bad_input or slow" tests
	@$(RUN) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not bad_input and not slow" --jaxtyping-packages=uqlib,beartype.beartype tests

nbval: $(READY) ## every notebook from a fresh kernel, its outputs compared
	@$(NBVAL)

test-matrix: $(READY) ## nbval under other threads, kernels, weights, devices and torch; half an hour (for maintainers)
	@$(RUN) tests/matrix.py $(LEG)

test-interrupted: $(READY) ## kill commands at random moments, fill the disk, cut the network; an hour (for maintainers)
	@$(RUN) tests/interrupted.py $(ONLY)

refresh: $(READY) ## run the notebooks and renew their stored outputs in place (for maintainers)
	@$(RUN) -m uqlib refresh

reference: $(READY) ## compute the stored results in data/ anew; about a quarter of an hour (for maintainers)
	@$(RUN) data/make_reference.py
	@$(RUN) data/make_posterior.py

figures: $(READY) ## export every figure that has changed to figures/; SIZE=4:3 and STYLE=paper redraw
	@$(RUN) -m uqlib figures $(if $(SIZE),--size $(SIZE)) $(if $(STYLE),--style $(STYLE))

figures-check: $(READY) ## build every figure twice elsewhere and compare the bytes
	@rm -rf build/figures-once build/figures-again
	@$(RUN) -m uqlib figures --out build/figures-once
	@$(RUN) -m uqlib figures --out build/figures-again
	@diff --recursive --brief --exclude='.made-*' build/figures-once build/figures-again && echo "The same bytes, twice."

animations: $(READY) ## two animations, gif and HTML player, to figures/animations/
	@$(RUN) -m uqlib animations

release: figures ## pack all figures into a zip below dist/; the first time it runs all notebooks
	@$(RUN) -m uqlib release

slides: $(READY) ## beamer files and HTML decks of all notebooks, to build/slides; JOIN=90-minutes makes one deck
	@$(RUN) -m uqlib slides $(if $(JOIN),--join $(JOIN))

FILMS = figures/animations/posterior-draws.html
$(FILMS): | $(READY)
	@$(RUN) -m uqlib animations

site: $(READY) $(FILMS) ## the web site from the stored outputs: build/site/index.html; the first time it makes the films
	@$(RUN) -m uqlib site

student: $(READY) ## copies to hand out: build/student, and build/live with the lines to type left blank
	@$(RUN) -m uqlib student

instructor: $(READY) ## a copy with outputs, solutions and nbgrader's metadata: build/instructor
	@$(RUN) -m uqlib instructor

# no look for newer versions: a lecture hall's network is no trouble then
QUIET = --LabApp.extension_manager=readonly --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate
lab: $(READY) ## JupyterLab in notebooks/, on this machine only
	@env -u TQDM_DISABLE $(RUN) -m jupyterlab notebooks --ip=localhost $(QUIET)

bench: $(READY) ## speed, as ratios measured in one run
	@$(RUN) tests/bench.py

bench-peers: build/peers/ready ## last-layer Laplace beside laplace-torch, in an environment of its own
	@build/peers/bin/python -W ignore tests/bench_peers.py

# laplace-torch asks for torchvision, which breaks beside a CPU build of torch and is not used: hence --no-deps.
build/peers/ready: constraints.txt
	@echo "Setting up build/peers (once; about a minute)"
	@$(PYTHON) -m venv build/peers
	@build/peers/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch numpy scipy tqdm jaxtyping opt-einsum torchmetrics einops
	@build/peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps laplace-torch==0.3 backpack-for-pytorch==1.7.1 curvlinops-for-pytorch==3.0.1 asdfghjkl==0.1a4 linear_operator==0.6.1 unfoldNd==0.2.3 einconv==0.1.0
	@touch $@

clean: ## remove the environment and everything below build/
	rm -rf $(if $(strip $(VENV)),$(VENV)) build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

ifneq ($(strip $(VENV)),)
# `ready` is written last, so an interrupted set-up is done again, and a finished one is not.
$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, $$($(PYTHON) --version 2>&1) found; name another: make PYTHON=python3.12 ..."; exit 2; }
	@echo "Setting up $(VENV) (once; a few minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test,kit]'
	@touch $@
endif

check-active:
	@$(RUN) -c 'import mdit_py_plugins, myst_nb, nbval, torch, uqlib' 2>/dev/null || { echo "This environment lacks the course; install it: $(RUN) -m pip install --editable '.[test,kit]'"; exit 2; }
