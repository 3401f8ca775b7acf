# Everything is set up in .venv; only python3 (3.11 or newer), make, git and a C++20 compiler are needed.
.DELETE_ON_ERROR:
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST ?= -n auto --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
CPP := $(foreach folder,cpp tests/core,$(wildcard $(addprefix $(folder)/,*.h *.cpp */*.h */*.cpp */*/*.h */*/*.cpp)))
# One build makes the package and core_tests, the C++ tests.
BUILD := --config-settings=cmake.define.TAGWRIGHT_TESTS=ON --config-settings=build-dir=
SOURCES := CMakeLists.txt pyproject.toml $(CPP) $(wildcard src/tagwright/*.py src/tagwright/*/*)

.PHONY: demo test lint format docs bench bench-quick asan clean help
help:            ## this list
	@grep -hE '^[a-z-]+: .*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed   ## tag some sentences; 5-best of a lattice of 3,000 labels by three decoders
	@$(BIN)/tagwright demo

test: $(VENV)/.installed $(VENV)/.test   ## the test-suite: C++, then Python with a process per core
	build/release/core_tests
	$(BIN)/python -m pytest $(PYTEST)

lint: $(VENV)/.installed $(VENV)/.lint   ## ruff, mypy --strict, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CPP)

format: $(VENV)/.lint   ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

docs: $(VENV)/.installed $(VENV)/.docs   ## the documentation, in docs/_build/html
	$(BIN)/python -m sphinx -W -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/.installed $(VENV)/.bench $(VENV)/.torch   ## the papers' tables and other packages beside us, into docs/benchmarks.md; two hours, may be interrupted
	$(BIN)/python -m benchmarks all
	$(BIN)/python -m benchmarks report

bench-quick: $(VENV)/.installed $(VENV)/.bench $(VENV)/.torch   ## the same on a few sentences, to see that everything runs
	$(BIN)/python -m benchmarks all --quick

# The stub generator imports the module, which a sanitizer build allows only with its run-time loaded first.
asan:   ## the test-suite against an AddressSanitizer + UBSan build
	$(PYTHON) -m venv .venv-asan
	.venv-asan/bin/python -m pip --disable-pip-version-check -q install $(BUILD)build/asan \
	  --config-settings=cmake.define.TAGWRIGHT_SANITIZE=ON --config-settings=cmake.define.TAGWRIGHT_STUBS=OFF \
	  --config-settings=install.strip=false '.[test]'
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 build/asan/core_tests
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TAGWRIGHT_LATTICES=$${TAGWRIGHT_LATTICES:-100} \
	  .venv-asan/bin/python -m pytest $(PYTEST)

clean:           ## remove what was built
	rm -rf build dist $(VENV) .venv-asan docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SOURCES) | $(VENV)/bin/python
	@echo "building tagwright in $(VENV) (once)"
	$(PIP) install $(BUILD)build/release --config-settings=cmake.define.TAGWRIGHT_WERROR=$(if $(CI),ON,OFF) .
	@touch $@

# The tools of an extra, as pyproject.toml names them; installing the extra itself would build the package again.
$(VENV)/.test $(VENV)/.lint $(VENV)/.docs $(VENV)/.bench $(VENV)/.torch: $(VENV)/.%: pyproject.toml | $(VENV)/.installed
	$(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$*"], sep="\n")' \
	  | $(PIP) install -r /dev/stdin
	@touch $@
