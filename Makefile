# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Debian's browser, where it may be installed; the tests of the page run in it.
CHROMIUM := { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1
# Bytecode is made of what is imported, when it is: of all 16,000 files it takes half a minute.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
# Two lanes of tests beside all others: what waits for a browser or for a process to start leaves its
# core to the rest. A third of the time each; docs/design.md says how they were measured.
VIEW := tests/view tests/monitoring tests/judging tests/engine/ring tests/experiments tests/heads \
	tests/text tests/textbook tests/checker/test_plugin.py tests/checker/test_forgery.py
COMMANDS := tests/cli tests/corpus model/tests tests/transformer tests/watcher
# Repeats of what other tests show (a second seed, another size) are left to make nightly.
OF_EVERY_RUN := $(BIN)/pytest -m 'not nightly and not site and not package'
# Tests of the engine that run a second time without the native kernels: the plans of tiles run
# without them in any case (tests/helpers/attention_plans.py), ring and gpu never with them.
NUMPY_TOO := $(addprefix tests/engine/,test_attention.py test_dense.py test_int8_matrix.py \
	test_merge.py test_observation.py test_threads.py tiles/test_plan.py)
SENTENCE ?= A dog ate the food because it was hungry

# The native kernels' sources: with other ones the editable install is made anew.
NATIVE := $(wildcard src/regard/engine/native/*.[ch]) src/regard/engine/native/compile.py

.DEFAULT_GOAL := help
.PHONY: fuzz help nightly demo test test-kernels test-native-sanitized native check smoke lint docs bench clean site test-site docs-site test-package

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A stamp newer than pyproject.toml means that set is installed, so the second run starts at once.
$(VENV)/base.stamp: pyproject.toml hatch_build.py $(NATIVE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing regard into $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

# torch goes first and exactly, so that whatever asks for torch later is content with it. Then what the
# extra names, and not the package with it, which would compile its kernels a second time.
REQUIRED := import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*project["optional-dependencies"]["test"], sep="\n")
$(VENV)/test.stamp: $(VENV)/base.stamp
	@echo "Installing the test tools into $(VENV) ..."
	@{ command -v chromium >/dev/null || $(CHROMIUM) || \
	echo "No Chromium here: browser tests will be skipped."; } & browser=$$!; \
	$(BIN)/python -c '$(REQUIRED)' > $(VENV)/test.txt && $(PIP) torch==2.13.0 && \
	$(PIP) --requirement $(VENV)/test.txt; status=$$?; wait $$browser; exit $$status
	@touch $@

# One of the peers of the benchmarks.
$(VENV)/bench.stamp: $(VENV)/test.stamp
	@$(PIP) --editable '.[bench]'
	@touch $@

demo: $(VENV)/base.stamp ## set up what is needed, then read a sentence with the shipped model
	@$(BIN)/regard "$(SENTENCE)"
	@echo
	@echo 'Next: $(BIN)/regard open (in the browser), $(BIN)/regard "Your own sentence", $(BIN)/regard --help'

# The engine's tests run with the native kernels and, where they depend on them, without.
test: $(VENV)/test.stamp ## set up what is needed, then lint, type-check and run every test
	@$(BIN)/python tools/lanes.py \
	--lane "$(OF_EVERY_RUN) $(addprefix --ignore=,$(VIEW) $(COMMANDS))" \
	--lane "$(OF_EVERY_RUN) $(VIEW)" \
	--lane "$(MAKE) --no-print-directory check" "$(OF_EVERY_RUN) $(COMMANDS)" \
	"REGARD_NATIVE=off $(BIN)/pytest -q $(NUMPY_TOO)"

# With warnings as errors, which an installation does not ask of an unknown compiler.
native: ## compile the native kernels beside their sources
	@$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) src/regard/engine/native/compile.py --strict

# Every load, store and shift of the kernels is checked; libasan must be there before Python is.
SANITIZED := $(VENV)/sanitized
test-native-sanitized: $(VENV)/test.stamp ## the kernels' tests under the address and UB sanitizers
	@$(BIN)/python src/regard/engine/native/compile.py --sanitized --folder $(SANITIZED)
	@LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 \
	REGARD_NATIVE_LIBRARY="$$(ls $(SANITIZED)/_kernels.*-*)" $(BIN)/pytest -q -p no:cacheprovider \
	tests/engine/native/test_attend.py tests/engine/test_dense.py tests/engine/test_int8_matrix.py \
	tests/engine/tiles/test_rows.py tests/engine/test_extremes.py tests/engine/test_fuzz.py

# As if on other processors; KERNELS="Haswell Prescott" takes these alone.
test-kernels: $(VENV)/test.stamp ## the tests that depend on arithmetic, with every BLAS kernel
	@$(BIN)/python tools/kernels.py $(KERNELS)

# CASES=100000 SEED=7 make fuzz: other calls than those of make test.
fuzz: $(VENV)/test.stamp ## random calls against float64, damaged files, hostile names and requests
	@REGARD_FUZZ_CASES=$${CASES:-5000} REGARD_FUZZ_SEED=$${SEED:-1} \
	$(BIN)/pytest -q -x tests/engine/test_fuzz.py tests/test_fuzz.py

# About half an hour on one core; docs/watch_families.md has the verdicts as they were.
nightly: $(VENV)/test.stamp ## tests that repeat others, and every model type of transformers under watch
	@$(BIN)/pytest -m nightly
	@$(BIN)/python tools/watch_families.py --compare docs/watch_families.md

check: $(VENV)/test.stamp check-js ## lint and type-check alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	@$(BIN)/python tools/size.py

# Node is a tool for developers of the page: without it the rest is checked all the same.
check-js: ## format, lint and type-check the page's JavaScript, where Node is installed
	@if ! command -v npm >/dev/null; then echo "No npm here: the page's JavaScript is not checked."; \
	elif test "$$(node -p 'parseInt(process.versions.node)')" -lt 20; then \
	echo "Node is older than 20: the page's JavaScript is not checked."; \
	elif test -x node_modules/.bin/tsc || npm ci --silent; then npm run --silent check; \
	else echo "npm could not install its tools: the page's JavaScript is not checked."; fi

# The compiler for WebAssembly; Pyodide and NumPy are fetched by regard site itself.
$(VENV)/site.stamp: $(VENV)/test.stamp
	@$(PIP) --editable '.[site]'
	@touch $@

# WHEELS=folder takes parts that are there: the files of view/site/parts.py.
site: $(VENV)/site.stamp $(VENV)/docs.stamp ## build explorer and documentation as a static site, in the folder public
	@mkdir -p public && rm -rf public/docs
	@$(SPHINX) -t explorer -d $(VENV)/doctrees-site docs public/docs
	@$(BIN)/regard site public $(if $(WHEELS),--wheels $(WHEELS))

test-site: $(VENV)/site.stamp ## build a site, then compare and use it in Node, Chromium and Firefox
	@REGARD_SITE_WHEELS=$(WHEELS) $(BIN)/pytest -m site tests/site

# Sphinx, its theme and its reader of Markdown; the pages need nothing of the test set.
$(VENV)/docs.stamp: $(VENV)/base.stamp
	@$(PIP) --editable '.[docs]'
	@touch $@

SPHINX = $(BIN)/python -m sphinx -q -W --keep-going
docs-site: $(VENV)/docs.stamp ## build the documentation site, in the folder dist/docs
	@$(SPHINX) -d $(VENV)/doctrees docs dist/docs
	@echo "dist/docs/index.html"

# Minutes: three packages are built and installed, each in an environment of its own.
test-package: $(VENV)/base.stamp ## build sdist and wheels, install each in a clean environment, try it
	@$(PIP) 'build>=1.2' 'twine>=6' 'readme_renderer[md]>=44' 'pytest>=8.3'
	@$(BIN)/pytest -m package tests/test_package.py

# Only files with such a test are collected: the others would import torch first.
smoke: $(VENV)/test.stamp ## a few tests of every part, in less than ten seconds
	@$(BIN)/pytest -q -m smoke $$(grep -rl --include='test_*.py' 'mark\.smoke' tests)

lint: $(VENV)/test.stamp ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy

docs: $(VENV)/test.stamp ## write the generated parts of README and docs/benchmarks.md anew
	@PYTHONPATH=. $(BIN)/python tools/refresh_docs.py

bench: $(VENV)/bench.stamp ## measure speed and memory against peers; writes benchmarks/results/
	$(BIN)/python benchmarks/bench_attention.py
	$(BIN)/python benchmarks/bench_reading.py
	$(BIN)/python benchmarks/bench_experiments.py
	$(BIN)/python benchmarks/bench_watch.py
	$(BIN)/python benchmarks/bench_page.py
	$(BIN)/python benchmarks/bench_survey.py
	$(BIN)/python benchmarks/bench_ring.py
	$(BIN)/python tools/scale.py --write

clean: ## remove the environment and every cache
	rm -rf $(VENV) node_modules .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist
