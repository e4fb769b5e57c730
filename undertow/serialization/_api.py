"""`save` and `load`: selection of the format, `map_location`, and the checks before a file is opened."""

from __future__ import annotations

import os
from pathlib import Path
from pickle import UnpicklingError

import undertow
from undertow import _C
from undertow._C import UntypedStorage
from undertow.serialization import _safetensors, _torch_legacy, _torch_zip
from undertow.serialization._allowed import named_globals
from undertow.serialization._globals import is_known
from undertow.serialization._pickle_writer import Emitter
from undertow.serialization._source import Source, is_path
from undertow.storage import TypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from undertow.serialization._torch_zip import Read


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to a file: tensors, numbers, strings, containers of them, and everything that can be pickled, such as a module.

    A path that ends in `.safetensors` is written in that format; everything else, including file objects, in the format of
    torch.save. Tensors, numbers, strings, and dicts, lists, tuples and sets of them can be loaded safely, here and with
    torch.load(weights_only=True); other objects only with weights_only=False, so save a state_dict() rather than a module. Tensors
    that share storage share it again after loading a `.pt` file; a safetensors file stores each tensor separately. An object that
    cannot be written raises before the file is opened.

    >>> import io
    >>> import undertow as ut
    >>> file = io.BytesIO()
    >>> ut.save({"weight": ut.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> ut.load(file)
    {'weight': tensor([1., 1.])}
    """
    _check_pickle_module(pickle_module)
    if not 2 <= pickle_protocol <= 5:
        raise ValueError(f"save: pickle_protocol must be from 2 to 5, got {pickle_protocol}; files are always written with protocol 2")
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if is_path(f) and os.fspath(f).endswith(".safetensors"):
        tensors, metadata = _safetensors.prepare(obj)
        write = lambda file: _safetensors.save(file, tensors, metadata)
    else:
        legacy = not _use_new_zipfile_serialization
        emitter = Emitter(legacy)
        pickled = emitter.pickle(obj)
        if legacy:
            write = lambda file: _torch_legacy.save(file, pickled, emitter.storages, emitter.counts)
        else:
            prefix = Path(f).stem if is_path(f) else "archive"
            write = lambda file: _torch_zip.save(file, prefix or "archive", pickled, emitter.storages)
    if not is_path(f):
        write(f)
        if hasattr(f, "flush"):
            f.flush()  # so that a reader of the same file sees it, as with torch
        return
    if not Path(f).parent.is_dir():
        raise RuntimeError(f"Parent directory {Path(f).parent} does not exist.")
    with open(f, "wb") as file:
        write(file)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load a file written by `save` or torch.save, or a safetensors file; the format is detected from the content.

    Loading does not run code from a file: a `.pt` file is read by an interpreter that builds only tensors, parameters and plain
    containers. A file that needs more raises UnpicklingError with the name of the missing function or class, which
    `serialization.add_safe_globals` can allow. With weights_only=False such a file is read with pickle, which can run any code, and
    a warning says so. A corrupt or truncated file raises, and nothing is loaded. With mmap=True, which needs a path, tensors use the
    mapped file: pages are read on first use, and writing to the tensors does not change the file.

    >>> import io
    >>> import pickle
    >>> import undertow as ut
    >>> ut.load(io.BytesIO(pickle.dumps(print)))
    Traceback (most recent call last):
    _pickle.UnpicklingError: Weights only load failed. Unsupported global: GLOBAL builtins.print was not ...
    """
    _check_pickle_module(pickle_module)
    weights_only = _as_environment_says(weights_only)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise TypeError(f"load: unexpected arguments {', '.join(pickle_load_args)}; only encoding is supported")
    if encoding not in ("utf-8", "ascii", "latin1", "latin-1", "bytes"):
        raise ValueError(f"load: encoding {encoding!r} is not one of utf-8, ascii, latin1 and bytes")
    restore = _restore_by(map_location)
    if is_path(f):
        with open(f, "rb") as file:
            return _load(file, restore, bool(mmap), encoding, weights_only is False)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    for method in ("read", "seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a file that is seekable. "
                "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    return _load(f, restore, False, encoding, weights_only is False)


def _as_environment_says(weights_only: bool | None) -> bool | None:
    """Return `weights_only`, changed by the two variables of the environment that PyTorch's users set."""
    safe, unsafe = (os.environ.get(f"TORCH_FORCE_{name}WEIGHTS_ONLY_LOAD", "0").lower() in ("1", "y", "yes", "true") for name in ("", "NO_"))
    if safe and unsafe:
        raise RuntimeError("Only one of TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD may be set, but both are")
    if safe:
        return True
    if unsafe and weights_only is None:
        import warnings

        warnings.warn("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set and `weights_only` was not passed, forcing weights_only=False", stacklevel=3)
        return False
    return weights_only


def _load(file: IO[bytes], restore: Callable[[Any, str], Any], mapped: bool, encoding: str, may_run_code: bool) -> Any:
    source = Source(file, mapped)
    try:
        return _load_with(source, restore, mapped, encoding, _torch_zip.read_safely)
    except UnpicklingError:
        if not may_run_code:
            raise
    from undertow.serialization import _unsafe_reader

    _unsafe_reader.warn()
    return _load_with(source, restore, mapped, encoding, _unsafe_reader.read)


def _load_with(source: Source, restore: Callable[[Any, str], Any], mapped: bool, encoding: str, read: Read) -> Any:
    if source.size == 0:
        raise EOFError("Ran out of input: the file is empty, or was already read to the end")
    start = source.read(0, min(16, source.size), "the file")
    if _safetensors.looks_like(start):
        return _safetensors.load(source, restore)
    if start.startswith(b"PK\x03\x04"):
        return _torch_zip.load(source, restore, mapped, encoding, read)
    if mapped:
        raise RuntimeError("mmap can only be used with files of the zip format of torch.save and with safetensors files")
    if start.startswith(b"\x80"):
        return _torch_legacy.load(source, restore, encoding, read)
    tail = source.read(257, 5, "the file") if source.size >= 262 else b""
    what = "a tar file, as PyTorch wrote before 0.1.10; save it again with PyTorch" if tail == b"ustar" else f"it begins with {start[:8]!r}"
    raise RuntimeError(f"Invalid magic number; corrupt file? It is neither a file of torch.save nor of safetensors: {what}")


def _check_pickle_module(module: Any) -> None:
    if module is not None and getattr(module, "__name__", None) != "pickle":
        raise ValueError(f"pickle_module: no pickle module is used to read or write, so {module!r} would have no effect; omit it")


def _restore_by(map_location: Any) -> Callable[[Any, str], Any]:
    """Return a function that moves a storage to its device, given the location stored in the file."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        names = {str(k): str(v) for k, v in map_location.items()}
        return lambda storage, location: default_restore_location(storage, names.get(location, location))
    if isinstance(map_location, (str, _C.device)):
        place = str(map_location)
        return lambda storage, location: default_restore_location(storage, place)
    if not callable(map_location):
        raise TypeError(f"load: map_location must be a device, its name, a dict or a function, got {type(map_location).__name__}")

    def by_function(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        if result is None:
            return default_restore_location(storage, location)
        if isinstance(result, TypedStorage):
            result = result.untyped()
        if not isinstance(result, UntypedStorage):
            raise TypeError(f"load: map_location returned a {type(result).__name__}; expected a storage or None")
        return result

    return by_function


def location_tag(storage: Any) -> str:
    """Return the location tag of a storage, as stored in files."""
    return str(storage.device)


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """Return the names of functions and classes in a file of torch.save that `load` would not accept.

    >>> import io
    >>> import undertow as ut
    >>> file = io.BytesIO()
    >>> ut.save(ut.ones(2), file)
    >>> _ = file.seek(0)
    >>> get_unsafe_globals_in_checkpoint(file)
    []
    """
    if is_path(f):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    source = Source(f, False)
    if source.read(0, min(4, source.size), "the file") != b"PK\x03\x04":
        raise ValueError("Expected input to be a checkpoint returned by torch.save but the file is not a zip archive")
    names = named_globals(_torch_zip.pickle_of(source))
    return [name for name in names if not is_known(*name.rpartition(".")[::2])]


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """Return the storage itself for the CPU, a copy for a GPU, or a storage of its size without memory for meta; raise for other devices."""
    if location == "cpu" or location.startswith("cpu:"):
        return storage
    if location == "meta":
        return undertow.empty(storage.nbytes(), dtype=undertow.uint8, device="meta").untyped_storage()
    if location.startswith("cuda"):
        count = undertow.cuda.device_count()
        index = int(location[5:]) if location[5:].isdecimal() else 0
        if count == 0:
            raise RuntimeError(
                f"Attempting to deserialize object on a CUDA device ({location}), but there is none: cuda.is_available() is False. "
                "Use map_location='cpu' to load it to the CPU"
            )
        if index >= count:
            raise RuntimeError(
                f"Attempting to deserialize object on CUDA device {index} but cuda.device_count() is {count}. Use map_location to choose a device"
            )
        return storage.cuda(location)
    raise RuntimeError(f"don't know how to restore data location of UntypedStorage (tagged with {location}); use map_location='cpu'")
