#!/usr/bin/env bash
# tidy.sh FOLDER PYTHON JOBS: clang-tidy over the core's sources, with the checks of .clang-tidy. TIDY_FILES narrows it.
set -euo pipefail
folder=$1 python=$2 jobs=$3
for version in -22 -21 -20 -19 ""; do
  if command -v "clang-tidy$version" >/dev/null && command -v "clang++$version" >/dev/null; then found=$version; break; fi
done
if [ -z "${found+set}" ]; then
  echo "tidy.sh: clang-tidy and clang++ are not installed: nothing was checked"
  exit 0
fi
cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="clang++$found" -DUNDERTOW_QUICK=ON -DUNDERTOW_TESTS=ON -DUNDERTOW_INPLACE=OFF \
  -DPython_EXECUTABLE="$python" >/dev/null
# shellcheck disable=SC2086  # TIDY_FILES is a list
git ls-files ${TIDY_FILES:-'core/*.cpp'} | xargs -P "$jobs" -n 4 "clang-tidy$found" --quiet -p "$folder"
echo "tidy.sh: clean"
