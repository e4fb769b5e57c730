#!/usr/bin/env bash
# Builds Undertow in place, runs the tests that need a GPU and the comparison with PyTorch: everything in one call, because time on a machine with a
# GPU is short. Needs CMake, Ninja and a C++ compiler; installs pytest from the folder wheels/ if it is missing. No network.
#
#   tools/cuda_session.sh [build] [quick] [test] [bench]      (all but quick by default)
#
# BUILD_SECONDS, TEST_SECONDS, BENCH_SECONDS limit the parts; TEST_ARGS are further arguments of pytest; BENCH_ARGS of bench.cuda. Whole
# outputs are written to the folder OUT (default build/cuda_session); the screen gets their ends.
set -u
cd "$(dirname "$0")/.."
OUT=${OUT:-build/cuda_session}
mkdir -p "$OUT"
PYTHON=${PYTHON:-python3}
JOBS=${JOBS:-$(nproc)}
steps=${*:-build test bench}
export PYTHONUNBUFFERED=1 PYTHONPATH="$PWD"

part() { echo; echo "== $1 ($(date +%T))"; }

for step in $steps; do
  case $step in
    build)
      part build
      begin=$SECONDS
      "$PYTHON" -c "import pytest, xdist" 2>/dev/null ||
        "$PYTHON" -m pip install -q --no-index --find-links wheels pytest pytest-xdist hypothesis 2>&1 | grep -v WARNING
      cmake -S . -B build/session -G Ninja -DCMAKE_BUILD_TYPE=Release -DUNDERTOW_TESTS=OFF -DPython_EXECUTABLE="$(command -v "$PYTHON")" >"$OUT/cmake.log" 2>&1 &&
        timeout "${BUILD_SECONDS:-240}" ninja -j "$JOBS" -C build/session inplace >"$OUT/build.log" 2>&1
      status=$?
      echo "status $status after $((SECONDS - begin)) s"
      if [ $status -ne 0 ]; then
        tail -5 "$OUT/cmake.log"
        grep -E -A8 "error:|FAILED" "$OUT/build.log" | head -60
        exit $status
      fi
      ;;
    quick) # a few operations, to see that anything works at all
      part quick
      timeout 120 "$PYTHON" tools/cuda_quick.py 2>&1 | tee "$OUT/quick.log" | tail -60
      ;;
    test)
      part test
      # shellcheck disable=SC2086
      timeout "${TEST_SECONDS:-200}" "$PYTHON" -m pytest -q -m cuda -n "$JOBS" --dist worksteal --max-worker-restart 200 --tb=line -p no:cacheprovider \
        -o addopts="--strict-markers" tests/cuda ${TEST_ARGS:-} >"$OUT/test.log" 2>&1
      echo "status $?"
      sed -n '/operators that differ/,$p' "$OUT/test.log" | cut -c1-240 | head -150
      grep -E "^(FAILED|ERROR)|worker .* crashed" "$OUT/test.log" | grep -v "test_operators.py" | cut -c1-240 | head -60
      tail -2 "$OUT/test.log"
      ;;
    bench)
      part bench
      # shellcheck disable=SC2086
      timeout "$((${BENCH_SECONDS:-220} + 30))" "$PYTHON" -m bench.cuda --seconds "${BENCH_SECONDS:-220}" --write ${BENCH_ARGS:-} >"$OUT/bench.log" 2>&1
      echo "status $?"
      cut -c1-200 "$OUT/bench.log" | head -170
      cp -f bench/CUDA.md "$OUT/" 2>/dev/null
      ;;
    *)
      echo "unknown step $step" >&2
      exit 2
      ;;
  esac
done
