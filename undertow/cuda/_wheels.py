"""Where NVIDIA's libraries are if they were installed with pip: the folders `nvidia/*/lib` beside other packages."""

from __future__ import annotations

import os
import sys


def library_folders() -> str:
    """Return the folders that exist, separated by colons.

    >>> all(os.path.isdir(folder) for folder in library_folders().split(":") if folder)
    True
    """
    found = []
    for place in dict.fromkeys(sys.path):
        nvidia = os.path.join(place or ".", "nvidia")
        if os.path.isdir(nvidia):
            found += [os.path.join(nvidia, name, "lib") for name in sorted(os.listdir(nvidia))]
    return ":".join(folder for folder in found if os.path.isdir(folder))
