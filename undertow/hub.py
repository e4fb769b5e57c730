"""Download weights to a cache folder, like `torch.hub`. Code is never downloaded: `load` accepts only local folders."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile

from undertow._ranks import is_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_chosen: str | None = None
_HASH = re.compile(r"-([a-f0-9]*)\.")
_list = list


def _get_torch_home() -> str:
    """Return the root folder of torch's caches."""
    home = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.environ.get("TORCH_HOME", home))


def get_dir() -> str:
    """Return the cache folder: set by `set_dir`, otherwise $TORCH_HOME/hub, otherwise torch's default."""
    return _chosen if _chosen is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the cache folder."""
    global _chosen
    _chosen = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download `url` to the file `dst`, which is created only if the download is complete and its SHA-256 begins with `hash_prefix`."""
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(dst)
    progress = progress and is_first()  # of several ranks, one shows it
    digest, done = hashlib.sha256(), 0
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(dst)), suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as out, urlopen(Request(url, headers={"User-Agent": "undertow.hub"})) as source:
            length = int(source.headers.get("Content-Length") or 0)
            while block := source.read(1 << 20):
                out.write(block)
                digest.update(block)
                done += len(block)
                if progress and length:
                    print(f"\r{done / length:6.1%} of {length / 1e6:.1f} MB", end="", file=sys.stderr)
        if progress and done:
            print(file=sys.stderr)
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.replace(partial, dst)
    except BaseException:
        os.unlink(partial)
        raise


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Load the state dict at `url`; it is downloaded to `model_dir` (default: checkpoints in the cache) unless the file exists."""
    from urllib.parse import urlparse

    import undertow

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        print(f'Downloading: "{url}" to {path}\n', file=sys.stderr)
        found = _HASH.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    return undertow.load(path, map_location=map_location, weights_only=weights_only)


def _entries(repo: Any, source: str) -> ModuleType:
    """Import the `hubconf.py` of a folder."""
    import importlib.util

    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source.lower() == "github":
        raise RuntimeError(f"hub: {repo} contains code, and Undertow downloads only weights; clone the repository and pass source='local'")
    folder = os.path.abspath(repo)
    spec = importlib.util.spec_from_file_location("hubconf", os.path.join(folder, "hubconf.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _entry(module: ModuleType, model: str) -> Any:
    entry = getattr(module, model, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry


def load(repo_or_dir: Any, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Call the entry `model` of a local folder's `hubconf.py` with the given arguments; `source` must be "local"."""
    for option in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(option, None)
    return _entry(_entries(repo_or_dir, source), model)(*args, **kwargs)


def list(github: Any, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None, verbose: bool = True) -> _list[str]:
    """Return the names of the entries in a local folder's `hubconf.py`."""
    module = _entries(github, "local" if os.path.isdir(github) else "github")
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github: Any, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None) -> Any:
    """Return the docstring of an entry."""
    return _entry(_entries(github, "local" if os.path.isdir(github) else "github"), model).__doc__
