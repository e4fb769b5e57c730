#!/usr/bin/env bash
# aarch64.sh FOLDER PYTHON JOBS: cross-compiles for 64-bit ARM, then runs the C++ tests and some Python tests in QEMU.
# The target's Python and libraries come from the distribution's own packages, unpacked into FOLDER/system; nothing is
# installed on this machine. AARCH64_OPTIONS goes to CMake. AARCH64_TESTS names the Python tests: those that start no
# programs, which a machine without binfmt_misc cannot run.
set -euo pipefail
folder=$PWD/$1 python=$2 jobs=$3
system=$folder/system site=$folder/site
tests=${AARCH64_TESTS:-tests/tensor/test_tensor.py tests/tensor/test_create.py tests/tensor/test_dtype.py tests/tensor/test_functions.py
  tests/tensor/test_indexing.py tests/kernels/test_reduce.py tests/kernels/test_matmul.py tests/kernels/test_fft.py
  tests/kernels/test_convolution.py tests/kernels/test_winograd.py tests/kernels/test_half_lines.py tests/kernels/test_ordering.py
  tests/linalg/test_linalg.py tests/autograd/engine/test_engine.py}

emulator=
for name in qemu-aarch64-static qemu-aarch64; do
  if command -v "$name" >/dev/null; then emulator=$name; break; fi
done
for missing in aarch64-linux-gnu-g++ ${emulator:-qemu-aarch64-static} apt-get dpkg; do
  if ! command -v "$missing" >/dev/null; then
    echo "aarch64.sh: $missing is not installed: nothing was built (Debian: apt-get install g++-aarch64-linux-gnu qemu-user-static)"
    exit 0
  fi
done

. /etc/os-release
case $ID in
  debian) mirror=http://deb.debian.org/debian keys=/usr/share/keyrings/debian-archive-keyring.gpg components=main ;;
  ubuntu) mirror=http://ports.ubuntu.com/ubuntu-ports keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg components="main universe" ;;
  *) echo "aarch64.sh: $ID's packages are not known here: nothing was built"; exit 0 ;;
esac
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# A separate apt folder with an empty list of installed packages, so that it fetches everything that Python needs.
if [ ! -e "$system/.ready-$version" ]; then
  apt=$folder/apt
  rm -rf "$apt" "$system"
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$system"
  : >"$apt/status"
  echo "deb [arch=arm64 signed-by=$keys] $mirror $VERSION_CODENAME $components" >"$apt/sources.list"
  options=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt"
    -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Debug::NoLocking=1 -o APT::Sandbox::User=)
  apt-get "${options[@]}" -qq update
  apt-get "${options[@]}" -qq -y --no-install-recommends --download-only install "python$version" "libpython$version-dev" libstdc++6
  for package in "$apt"/archives/*.deb; do dpkg -x "$package" "$system"; done
  touch "$system/.ready-$version"
fi
if [ ! -e "$site/.ready-$version" ]; then
  rm -rf "$site"
  "$python" -m pip install -q --target "$site" --only-binary=:all: --python-version "$version" --implementation cp \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 --platform any numpy scipy pytest hypothesis
  touch "$site/.ready-$version"
fi

# shellcheck disable=SC2086  # AARCH64_OPTIONS is a list
cmake -S . -B "$folder" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DUNDERTOW_TARGET_SYSTEM="$system" -DUNDERTOW_WERROR=ON \
  -DUNDERTOW_TESTS=ON -DUNDERTOW_INPLACE=OFF -DPython_EXECUTABLE="$python" -DPython_INCLUDE_DIR="$system/usr/include/python$version" \
  -DUNDERTOW_TARGET_SOABI="cpython-${version/./}-aarch64-linux-gnu" ${AARCH64_OPTIONS:-} >/dev/null
cmake --build "$folder" --parallel "$jobs"

# The kernels must be vectorized: scalar code has no multiply-add instructions on vectors.
vectors=$(aarch64-linux-gnu-objdump -d --no-show-raw-insn "$folder/libundertow.so" | grep -cE '\bfml[as]\s+v[0-9]+\.(4s|2d)' || true)
echo "aarch64.sh: $vectors multiply-add instructions on NEON vectors in libundertow.so"
test "$vectors" -gt 1000

ctest --test-dir "$folder" -LE slow --output-on-failure --timeout 3600
stage=$(tools/stage.sh "$1")
export PYTHONHOME=$system/usr PYTHONPATH=$stage:$site PYTHONSAFEPATH=1
# shellcheck disable=SC2086  # a list of tests
"$emulator" -L "$system" "$system/usr/bin/python$version" -m pytest -q -p no:cacheprovider -m "not slow" $tests
