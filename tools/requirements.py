"""Prints the requirements named in pyproject.toml: of the build system ("build") and of the extras given."""
from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
for name in sys.argv[1:]:
    if name == "build":
        wanted = project["build-system"]["requires"] + project["project"]["dependencies"]
    else:
        wanted = project["project"]["optional-dependencies"][name]
    print("\n".join(r.replace(" ", "") for r in wanted))  # the shell divides words at spaces; markers need none
