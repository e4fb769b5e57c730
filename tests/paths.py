"""Where things are: the root of the source tree, and the folder of the tests."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent


def environment_for_tools() -> dict[str, str]:
    """The environment of a process that imports `tools` from the source tree, and the package that is being tested."""
    import undertow

    package = Path(undertow.__file__).parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)]), "PYTHONSAFEPATH": "1"}
