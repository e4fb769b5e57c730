#!/usr/bin/env bash
# stage.sh BUILD: puts the package of a build folder into BUILD/stage, as an installation would, and prints that folder.
# Tests of a build that is not installed run with PYTHONPATH=BUILD/stage and PYTHONSAFEPATH=1.
set -euo pipefail
stage=$PWD/$1/stage
rm -rf "$stage"
mkdir -p "$stage"
tar --exclude='*.so' --exclude=__pycache__ --exclude=undertow/lib -cf - undertow | tar -xf - -C "$stage"
cmake --install "$1" --prefix "$stage" >/dev/null
echo "$stage"
