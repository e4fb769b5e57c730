#!/usr/bin/env bash
# clang.sh FOLDER PYTHON JOBS: builds with Clang, warnings as errors, and runs the C++ tests and the Python tests without
# tests/parity. CLANG names the compiler; CLANG_OPTIONS goes to CMake, -DUNDERTOW_QUICK=ON for example.
set -euo pipefail
folder=$1 python=$2 jobs=$3
for compiler in ${CLANG:-clang++-22 clang++-21 clang++-20 clang++-19 clang++}; do
  if command -v "$compiler" >/dev/null; then found=$compiler; break; fi
done
if [ -z "${found:-}" ]; then
  echo "clang.sh: Clang is not installed: nothing was built"
  exit 0
fi
# shellcheck disable=SC2086  # CLANG_OPTIONS is a list
cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$found" -DUNDERTOW_WERROR=ON -DUNDERTOW_TESTS=ON -DUNDERTOW_INPLACE=OFF \
  -DPython_EXECUTABLE="$python" ${CLANG_OPTIONS:-} >/dev/null
cmake --build "$folder" --parallel "$jobs"
ctest --test-dir "$folder" -LE slow --output-on-failure
stage=$(tools/stage.sh "$folder")
PYTHONPATH=$stage PYTHONSAFEPATH=1 "$python" -m pytest -q -n "$jobs" -m "not slow" --ignore tests/parity tests
