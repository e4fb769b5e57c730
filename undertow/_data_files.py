"""Data files of the package. A wheel contains the large ones compressed (tools/compressed_data.py); the source tree has them as they are."""

from __future__ import annotations

import os


def read_text(path: str) -> str:
    """Return the text of a data file of the package, by its path in `undertow/`, compressed or not."""
    full = os.path.join(os.path.dirname(__file__), *path.split("/"))
    if os.path.exists(full):
        with open(full, encoding="utf-8") as file:
            return file.read()
    import gzip

    with gzip.open(full + ".gz", "rt", encoding="utf-8") as file:
        return file.read()
