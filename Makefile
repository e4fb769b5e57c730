# make demo, make test: everything from a clean clone. The environment is in .venv, builds are in build*/; nothing
# outside this folder changes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PY     := $(abspath $(BIN)/python)
JOBS   ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYTHONNOUSERSITE = 1
unexport PYTHONPATH

BUILD   := build/wheel
SOURCES := $(shell find core ops tools/opgen cmake tests/cpp tests/cuda/emulator CMakeLists.txt pyproject.toml -type f -not -name '*.pyc') \
           $(shell find undertow -type f \( -name '*.py' -o -name '*.pyi' -o -name 'py.typed' \))
TORCH   := torch==2.13.0

.PHONY: help demo demo-watch build test test-all mpi browser browser-deps cuda-emulated cuda-sources instructions asan tsan clang aarch64 tidy bench lint docs mutate parity-deps clean
help:
	@echo "make demo       build, train a small GPT on Shakespeare's sonnets, sample from it, write a page that shows a step"
	@echo "make demo-watch train a small network, check its gradients, record a backward pass"
	@echo "make test       build and run the tests;  make test-all: also the slow ones"
	@echo "make mpi        the tests of several processes over MPI;  make browser: those of the inspector's page in Chromium"
	@echo "make cuda-emulated  the tests of CUDA on an emulated driver;  make cuda-sources: its kernels under NVIDIA's compiler"
	@echo "make asan tsan  the engine tests under sanitizers (QUICKLY=1: only those in C++; SANITIZED_TESTS=tests: all)"
	@echo "make clang      build with Clang and run the tests;  make aarch64: the same for 64-bit ARM in an emulator"
	@echo "make tidy       clang-tidy over the core"
	@echo "make bench      compare speed and memory with PyTorch and NumPy"
	@echo "make docs       build the documentation site in build/docs/html"
	@echo "make lint       ruff, mypy, pyright, clang-format, layers, notes, tables"
	@echo "make mutate     break the code in many places, one at a time, and show which test notices"
	@echo "make clean      remove .venv and every build folder"

$(VENV)/.ready: pyproject.toml tools/requirements.py
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Undertow needs Python 3.11 or later, %s is %s; say PYTHON=..." % (sys.executable, sys.version.split()[0]))'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q $$($(PY) tools/requirements.py build test) cmake ninja
	@touch $@

# One incremental build creates the package and the C++ tests; the package is installed into .venv.
$(VENV)/.built: $(VENV)/.ready $(SOURCES)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pip install -q --no-build-isolation --no-deps --force-reinstall -Ccmake.define.UNDERTOW_TESTS=ON .
	@touch $@
build: $(VENV)/.built

demo: build
	$(PY) examples/demo.py
demo-watch: build
	$(PY) examples/demo_watch.py

test: build
	$(BIN)/ctest --test-dir $(BUILD) -LE slow --output-on-failure
	$(BIN)/pytest -q -n $(JOBS) -m "not slow"

mpi: build
	$(BIN)/pytest -q -m mpi tests/distributed

# Playwright, for the page of undertow.inspect in Chromium: the system's, or what .venv/bin/playwright install chromium downloads.
browser-deps: $(VENV)/.ready
	@$(BIN)/pip install -q $$($(PY) tools/requirements.py browser) || echo "Playwright cannot be installed here: the tests of the page will skip"
browser: build browser-deps
	$(BIN)/pytest -q -m browser tests/inspect/browser

# The CUDA backend without a GPU: its tests on an emulated driver, then every kernel they used under NVIDIA's compiler, for all GPUs that we support.
EMULATED = UNDERTOW_CUDA_CACHE=$(BUILD)/emulated_kernels $(PY) tests/cuda/emulated_cuda.py
CUDA_TESTS ?= tests/cuda
cuda-emulated: build
	$(EMULATED) $(BIN)/pytest -q -n $(JOBS) -m cuda $(CUDA_TESTS)

cuda-sources: cuda-emulated
	UNDERTOW_CUDA_PROGRAMS=$(BUILD)/emulated_kernels $(BIN)/pytest -q -n $(JOBS) tests/cuda/test_sources_compile.py

# Compares instruction counts of hot paths with checked-in limits, if valgrind is installed.
instructions: build
	@if command -v valgrind >/dev/null; then $(PY) -m bench.instructions; else echo "valgrind is not installed: instructions are not counted"; fi

test-all: build $(VENV)/.docs
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure
	$(PY) -m bench.instructions
	$(BIN)/pytest -q -n $(JOBS)

# PyTorch, for the comparisons in tests/parity, and what its operator database needs. Without it only these tests skip.
parity-deps: $(VENV)/.ready
	@$(PY) -c "import expecttest, torch; assert torch.__version__.startswith('2.13.0')" 2>/dev/null || $(BIN)/pip install -q "$(TORCH)" expecttest \
	  || echo "$(TORCH) cannot be installed here: the parity tests will skip"

# Sanitizer builds have their own folders and packages.
asan: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" SANITIZED_TESTS="$(SANITIZED_TESTS)" tools/sanitize.sh address,undefined build-asan $(PY) $(QUICKLY)
tsan: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" SANITIZED_TESTS="$(SANITIZED_TESTS)" tools/sanitize.sh thread build-tsan $(PY) $(QUICKLY)

# Other compilers and processors, in their own folders. If the tools are missing, a message says so.
clang: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" tools/clang.sh build-clang $(PY) $(JOBS)
aarch64: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" tools/aarch64.sh build-aarch64 $(PY) $(JOBS)
tidy: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" tools/tidy.sh build-tidy $(PY) $(JOBS)

bench: build parity-deps
	$(PY) -m bench

$(VENV)/.dev: $(VENV)/.ready
	$(BIN)/pip install -q $$($(PY) tools/requirements.py dev)
	@touch $@
lint: $(VENV)/.dev
	$(PY) -m tools.opgen --check
	$(PY) -m tools.lint
	$(BIN)/ruff check .
	git ls-files '*.cpp' '*.h' ':!tests/cpp/random_golden.h' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy
	$(BIN)/pyright

# See tools/mutate/README.md.
mutate: $(VENV)/.ready
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/dev -G Ninja -DUNDERTOW_TESTS=ON -DPython_EXECUTABLE=$(PY)
	PATH="$(abspath $(BIN)):$$PATH" ninja -C build/dev
	PATH="$(abspath $(BIN)):$$PATH" $(PY) -m tools.mutate

# The site shows the docstrings of the built package; warnings and broken links are errors.
$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/pip install -q $$($(PY) tools/requirements.py docs)
	@touch $@
docs: build $(VENV)/.docs
	$(PY) tools/docs/__main__.py

clean:
	rm -rf $(VENV) build build-* dist undertow/lib undertow/_C*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
