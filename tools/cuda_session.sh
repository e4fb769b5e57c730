#!/usr/bin/env bash
# Builds Undertow in place, runs the tests that need a GPU, measures the kernels of training steps and compares with PyTorch: everything in one call,
# because time on a machine with a GPU is short. Needs CMake, Ninja and a C++ compiler; installs pytest from the folder wheels/ if it is missing. No
# network.
#
#   tools/cuda_session.sh [build] [quick] [start] [profile] [test] [bench] [distributed]
#
# Without arguments: all but quick and distributed, within ten minutes.
#
# start: the parts of a first step, with an empty cache of kernels and with a full one. profile: the time of each kernel in steps of GPT-2 and
# ResNet-50, and in the operators of PROFILED. distributed: processes over MPI, by mpiexec and mpi4py (from wheels/ if it is missing), then NCCL with
# one process; RANKS ("2 8") are the numbers of processes. BUILD_SECONDS, PROFILE_SECONDS, TEST_SECONDS, BENCH_SECONDS, DISTRIBUTED_SECONDS and
# NCCL_SECONDS limit the parts; TEST_ARGS are further arguments of pytest, BENCH_ARGS of bench.cuda. Whole outputs are written to the folder OUT
# (default build/cuda_session); the screen gets their ends.
set -u
cd "$(dirname "$0")/.."
OUT=${OUT:-build/cuda_session}
mkdir -p "$OUT"
PYTHON=${PYTHON:-python3}
JOBS=${JOBS:-$(nproc)}
steps=${*:-build start profile test bench}
PROFILED=${PROFILED:-sort 10000000 float32;sort 4096x1024 float32;topk 64x65536 float32;100M floats: cumsum;100M floats: argmax;cross_entropy 8192x1024 bfloat16 and back}
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
    start)
      part "the parts of a first step: empty cache of kernels, then full"
      kernels="$OUT/kernels"
      rm -rf "$kernels"
      for run in empty full; do
        UNDERTOW_CUDA_CACHE="$kernels" timeout 40 "$PYTHON" -m bench.cuda_profile --start >"$OUT/start_$run.log" 2>&1
        echo "status $?, $(find "$kernels" -type f | wc -l) kernels, $(du -sh "$kernels" | cut -f1)"
      done
      paste <(cut -c1-11 "$OUT/start_empty.log") "$OUT/start_full.log" | cut -c1-120 | head -40
      ;;
    profile)
      part profile
      end=$((SECONDS + ${PROFILE_SECONDS:-140}))
      timeout 90 "$PYTHON" -m bench.cuda_profile --library both --top 22 gpt2-8x1024 resnet50 >"$OUT/profile_models.log" 2>&1
      timeout 30 "$PYTHON" -m bench.cuda_profile --top 16 gpt2-1x128-captured >"$OUT/profile_captured.log" 2>&1
      IFS=';' read -ra names <<<"$PROFILED"
      [ $SECONDS -lt $end ] && timeout $((end - SECONDS)) "$PYTHON" -m bench.cuda_profile --top 4 "${names[@]}" >"$OUT/profile_operators.log" 2>&1
      for log in "$OUT"/profile_{models,captured,operators}.log; do cut -c1-110 "$log" | head -30; done
      ;;
    test)
      part test
      # shellcheck disable=SC2086
      timeout "${TEST_SECONDS:-150}" "$PYTHON" -m pytest -q -m cuda -n "$JOBS" --dist worksteal --max-worker-restart 200 --tb=line -p no:cacheprovider \
        -o addopts="--strict-markers" tests/cuda ${TEST_ARGS:-} >"$OUT/test.log" 2>&1
      echo "status $?"
      sed -n '/operators that differ/,$p' "$OUT/test.log" | cut -c1-240 | head -150
      grep -E "^(FAILED|ERROR)|worker .* crashed" "$OUT/test.log" | grep -v "test_operators.py" | cut -c1-240 | head -60
      tail -2 "$OUT/test.log"
      ;;
    bench)
      part bench
      # shellcheck disable=SC2086
      timeout "$((${BENCH_SECONDS:-150} + 20))" "$PYTHON" -m bench.cuda --seconds "${BENCH_SECONDS:-150}" --write ${BENCH_ARGS:-} >"$OUT/bench.log" 2>&1
      echo "status $?"
      cut -c1-160 "$OUT/bench.log" | head -110
      cp -f bench/CUDA.md "$OUT/" 2>/dev/null
      ;;
    distributed)
      part "several processes over MPI"
      "$PYTHON" -c "import mpi4py" 2>/dev/null || "$PYTHON" -m pip install -q --no-index --find-links wheels mpi4py 2>&1 | grep -v WARNING
      if ! "$PYTHON" -c "from mpi4py import MPI" 2>/dev/null; then # the loader does not know the library: it is beside the launcher
        export LD_LIBRARY_PATH="$(dirname "$(readlink -f "$(command -v mpiexec)")")/../lib:${LD_LIBRARY_PATH:-}"
      fi
      "$PYTHON" -c "from mpi4py import MPI; print(MPI.Get_library_version().splitlines()[0])" 2>&1 | tail -1
      end=$((SECONDS + ${DISTRIBUTED_SECONDS:-100}))
      for ranks in ${RANKS:-2 8}; do
        [ $SECONDS -lt $end ] || break
        timeout $((end - SECONDS)) "$PYTHON" -m bench.distributed --ranks "$ranks" >"$OUT/distributed_$ranks.log" 2>&1
        echo "status $?"
        cut -c1-160 "$OUT/distributed_$ranks.log" | head -60
      done
      part "NCCL with one process"
      timeout "${NCCL_SECONDS:-60}" "$PYTHON" -m pytest -q -m cuda --tb=short -p no:cacheprovider -o addopts="--strict-markers" \
        tests/cuda/test_cuda_nccl.py >"$OUT/nccl.log" 2>&1
      echo "status $?"
      grep -E "^(FAILED|ERROR|E  )" "$OUT/nccl.log" | cut -c1-240 | head -40
      tail -2 "$OUT/nccl.log"
      ;;
    *)
      echo "unknown step $step" >&2
      exit 2
      ;;
  esac
done
