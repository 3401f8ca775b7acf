# Everything is set up in .venv; only python3 (3.11 or newer), make, git and a C++20 compiler are needed.
.DELETE_ON_ERROR:
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST ?= -n auto --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
CPP := $(foreach folder,cpp tests/core,$(wildcard $(addprefix $(folder)/,*.h *.cpp */*.h */*.cpp */*/*.h */*/*.cpp)))
# One build makes the package and core_tests, the C++ tests.
# The tools of the build stay in .venv, so that a build after a change compiles what changed and nothing else.
BUILD := --no-build-isolation --config-settings=cmake.define.TAGWRIGHT_TESTS=ON --config-settings=build-dir=
SOURCES := CMakeLists.txt pyproject.toml $(wildcard examples/*) $(CPP) $(wildcard src/tagwright/*.py src/tagwright/*/* src/tagwright/*/*/*)

.PHONY: library wasm wheels wheel-check release-check demo test test-ray test-apps lint format docs bench bench-quick asan tsan fuzz clean help
help:            ## this list
	@grep -hE '^[a-z-]+: .*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed   ## tag some sentences; 5-best of a lattice of 3,000 labels by three decoders
	@$(BIN)/tagwright demo

test: $(VENV)/.installed $(VENV)/.test   ## the test-suite: C++, then Python with a process per core
	build/release/core_tests
	$(BIN)/python -m pytest $(PYTEST)

# Ray listens on the machine's own address: where that is allowed, it gets a network of its own.
OWN_NETWORK = $(shell unshare -n ip link set lo up 2>/dev/null && echo unshare -n sh -c "'ip link set lo up; exec \"\$$0\" \"\$$@\"'")
test-ray: $(VENV)/.installed $(VENV)/.test   ## the tests that start Ray and Dask, which it installs; Spark if it is there
	@$(MAKE) -s $(VENV)/.ray-test || echo "Ray and Dask cannot be installed here: their tests are skipped"
	$(OWN_NETWORK) $(BIN)/python -m pytest -m engines tests/cluster

test-apps: $(VENV)/.installed $(VENV)/.test   ## applications of python-crfsuite, which it installs, on top of tagwright
	@$(MAKE) -s $(VENV)/.apps || echo "the applications cannot be installed here: their tests are skipped"
	$(BIN)/python -m pytest -m apps tests/compat

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

bench: $(VENV)/.installed $(VENV)/.bench $(VENV)/.torch-peers   ## the papers' tables and other packages beside us, into docs/benchmarks.md; two hours, may be interrupted
	$(BIN)/python -m benchmarks all
	$(BIN)/python -m benchmarks report

bench-quick: $(VENV)/.installed $(VENV)/.bench $(VENV)/.torch-peers   ## the same on a few sentences, to see that everything runs
	$(BIN)/python -m benchmarks all --quick

fuzz: $(VENV)/.installed $(VENV)/.test   ## attack it with drawn inputs for SECONDS=1800, or until Ctrl-C; FUZZ="arrays --seed 7" for more
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),1800) $(FUZZ)

# Without a number, `cmake --build --parallel` starts a compiler per file at once.
CPUS = $(shell nproc 2>/dev/null || echo 2)

# Without Python; PREFIX=/usr/local installs it there.
library:   ## libtagwright: static, shared with the C API, CMake package, pkg-config; in build/library/install or PREFIX=
	cmake -S . -B build/library -DTAGWRIGHT_TESTS=OFF
	cmake --build build/library --parallel $(CPUS)
	cmake --install build/library --component library --prefix $(or $(PREFIX),build/library/install)

# The npm package: its sources beside what emscripten makes of the core. NODE_PATH: of Debian's modules, for other Nodes.
wasm:   ## the runtime for browsers and Node.js: the npm package tagwright-wasm, in build/wasm/package; needs emscripten
	emcmake cmake -S . -B build/wasm -DCMAKE_BUILD_TYPE=Release
	NODE_PATH=$(or $(NODE_PATH),/usr/share/nodejs) cmake --build build/wasm --parallel $(CPUS)
	mkdir -p build/wasm/package
	cp wasm/index.js wasm/index.d.ts wasm/package.json wasm/README.md LICENSE build/wasm/tagwright.mjs build/wasm/tagwright.wasm build/wasm/package
	@gzip -9c build/wasm/package/tagwright.wasm build/wasm/package/tagwright.mjs build/wasm/package/index.js | wc -c | sed 's/$$/ bytes compressed/'

# A build with sanitizers is installed beside the other, in build/NAME/site, and uses the tools of $(VENV).
# The stub generator imports the module, which a sanitizer build allows only with its run-time loaded first.
SANITIZER = rm -rf build/$@/site && $(PIP) install $(BUILD)build/$@ --no-deps --target build/$@/site \
	  --config-settings=cmake.define.TAGWRIGHT_STUBS=OFF --config-settings=install.strip=false . \
	  --config-settings=cmake.define.TAGWRIGHT_SANITIZE
RUN_TIMES = $(foreach name,$(1) stdc++,$$($(CXX) -print-file-name=lib$(name).so))

asan: $(VENV)/.installed $(VENV)/.test   ## the test suite against an AddressSanitizer + UBSan build; PYTEST="tests/decoding" for a part
	$(SANITIZER)=address,undefined
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 build/asan/core_tests
	LD_PRELOAD="$(call RUN_TIMES,asan ubsan)" PYTHONPATH=build/asan/site \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TAGWRIGHT_LATTICES=$${TAGWRIGHT_LATTICES:-100} \
	  $(BIN)/python -m pytest $(PYTEST)

# In one process, whose exit code reports races. Where addresses are too random for ThreadSanitizer, setarch -R helps.
STILL = $(shell setarch -R true 2>/dev/null && echo setarch -R)
tsan: $(VENV)/.installed $(VENV)/.test   ## the tests that use threads, against a ThreadSanitizer build
	$(SANITIZER)=thread
	$(STILL) build/tsan/core_tests
	$(STILL) env LD_PRELOAD="$(call RUN_TIMES,tsan)" PYTHONPATH=build/tsan/site TSAN_OPTIONS=suppressions=tests/support/tsan.txt \
	  TAGWRIGHT_LATTICES=$${TAGWRIGHT_LATTICES:-20} $(BIN)/python -m pytest -k "threads or batches or decoded_together"

wheels:          ## wheels for Linux on x86_64 and aarch64 and the sdist, into dist/; TARGETS="sdist" for one of them
	$(PYTHON) tools/wheels.py $(TARGETS)

wheel-check: $(VENV)/bin/python   ## build an x86_64 wheel and the sdist; install and test the wheel in clean environments
	$(PYTHON) tools/wheels.py --one manylinux-x86_64 sdist
	$(PYTHON) tools/check_wheels.py

release-check: wheels docs   ## do version, changelog, wheels, sdist, documentation and figures belong together?
	$(PYTHON) tools/release_check.py

clean:           ## remove what was built
	rm -rf build dist $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.build: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "cmake>=3.18", "ninja", sep="\n")' \
	  | $(PIP) install -r /dev/stdin
	@touch $@

$(VENV)/.installed: $(SOURCES) $(VENV)/.build | $(VENV)/bin/python
	@echo "building tagwright in $(VENV) (once)"
	$(PIP) install $(BUILD)build/release --config-settings=cmake.define.TAGWRIGHT_WERROR=$(if $(CI),ON,OFF) .
	@touch $@

# The tools of an extra, as pyproject.toml names them; installing the extra itself would build the package again.
$(VENV)/.test $(VENV)/.lint $(VENV)/.docs $(VENV)/.bench $(VENV)/.torch-peers $(VENV)/.ray-test $(VENV)/.apps: $(VENV)/.%: pyproject.toml | $(VENV)/.installed
	$(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$*"], sep="\n")' \
	  | $(PIP) install -r /dev/stdin
	@touch $@
