#!/usr/bin/env bash
# sanitize.sh SANITIZERS FOLDER PYTHON [QUICKLY]: builds with the sanitizers, runs the C++ engine tests, then Python tests
# (SANITIZED_TESTS, by default those of the engine) on a staged package with the sanitizer's runtime preloaded. QUICKLY
# builds and tests only the engine.
set -euo pipefail
sanitizers=$1 folder=$2 python=$3 quickly=${4:-}

# Old runtimes cannot place their shadow under wide address randomization.
fixed() { if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi; }

export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# The interpreter is not instrumented, but the sanitizer sees the calls of its lock, so nothing is suppressed: without the
# lock everything it guards would look like a race. Children of tests that fork start their own threads.
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 history_size=4 die_after_fork=0"
export ASAN_OPTIONS=detect_leaks=1
export LSAN_OPTIONS="suppressions=$PWD/tools/lsan.supp print_suppressions=0"

engine_only=OFF
[ -z "$quickly" ] || engine_only=ON
cmake -S . -B "$folder" -G Ninja -DUNDERTOW_QUICK=ON -DUNDERTOW_TESTS=ON -DUNDERTOW_INPLACE=OFF \
  -DUNDERTOW_ENGINE_ONLY=$engine_only -DUNDERTOW_SANITIZE="$sanitizers" -DPython_EXECUTABLE="$python" >/dev/null
cmake --build "$folder"
fixed ctest --test-dir "$folder" -L engine --output-on-failure

if [ -n "$quickly" ]; then
  echo "sanitize.sh: skipped operators and Python, as requested"
  exit 0
fi
stage=$(tools/stage.sh "$folder")
case $sanitizers in
  thread) runtime=$(c++ -print-file-name=libtsan.so) ;;
  *) runtime="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libubsan.so)" ;;
esac
# CPython keeps memory at exit on purpose, and its allocator hides the effects of ours. The safe path keeps the source tree
# from hiding the staged package.
export ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=$stage PYTHONSAFEPATH=1
# shellcheck disable=SC2086  # a list of tests
LD_PRELOAD=$runtime fixed "$python" -m pytest -q -p no:cacheprovider -m "not slow" --rootdir tests --ignore tests/parity ${SANITIZED_TESTS:-tests/autograd}
