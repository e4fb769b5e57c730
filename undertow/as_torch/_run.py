"""The command line: `python -m undertow.as_torch` takes the same arguments as `python` (after its options) and runs them in the same way.

The program becomes `__main__` with its own `sys.argv` and `sys.path[0]`, and tracebacks do not show our frames.
"""

from __future__ import annotations

import os
import runpy
import sys
from importlib.machinery import BuiltinImporter

from undertow.as_torch._hook import _our_name, install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

USAGE = """usage: python -m undertow.as_torch [-m module | -c code | script | -] [arguments]

Runs a PyTorch program on Undertow: `import torch` resolves to Undertow, and everything else works as with python.
Without a program it reads one from standard input, or starts an interactive interpreter on a terminal.
"""
_HERE = os.path.dirname(os.path.abspath(__file__))


def _first_frame_of_program(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame of the program, after our own frames."""
    last, current = traceback, traceback
    while current is not None:
        if os.path.dirname(current.tb_frame.f_code.co_filename) == _HERE:
            last = current.tb_next
        elif "runpy" not in current.tb_frame.f_code.co_filename:
            break
        current = current.tb_next
    return last


def _excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    shown = _first_frame_of_program(traceback)
    sys.__excepthook__(kind, error.with_traceback(shown), shown)


def _main_namespace(**names: Any) -> dict[str, Any]:
    """Return the namespace of `__main__`, without our own names."""
    namespace = vars(sys.modules["__main__"])
    builtins = namespace["__builtins__"]
    namespace.clear()
    namespace.update({"__name__": "__main__", "__doc__": None, "__package__": None, "__loader__": BuiltinImporter, "__spec__": None})
    namespace.update({"__builtins__": builtins, **names})
    return namespace


def _set_first_path(folder: str) -> None:
    """Set sys.path[0] as python does; with -P python adds nothing."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _run_script(path: str) -> None:
    if os.path.isdir(path) or not os.path.exists(path) or _is_archive(path):
        _run_container(path)
        return
    from importlib.machinery import SourceFileLoader, SourcelessFileLoader

    _set_first_path(os.path.dirname(os.path.realpath(path)))
    file = os.path.join(os.getcwd(), path)  # absolute, otherwise unchanged
    if path.endswith(".pyc"):
        loader: SourcelessFileLoader | SourceFileLoader = SourcelessFileLoader("__main__", file)
        code: Any = loader.get_code("__main__")
    else:
        loader = SourceFileLoader("__main__", file)
        code = compile(loader.get_data(file), file, "exec", dont_inherit=True)
    exec(code, _main_namespace(__file__=file, __loader__=loader, __cached__=None))


def _is_archive(path: str) -> bool:
    if path.endswith(".py"):
        return False  # importing zipfile takes longer than importing Undertow
    import zipfile

    return zipfile.is_zipfile(path)


def _run_container(path: str) -> None:
    """Run a folder or archive that has a `__main__.py`."""
    if not os.path.exists(path):
        print(f"{sys.executable}: can't open file {os.path.abspath(path)!r}: [Errno 2] No such file or directory", file=sys.stderr)
        raise SystemExit(2)
    _set_first_path(path)
    if sys.flags.safe_path:
        sys.path.insert(0, path)
    _main_namespace()
    runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]  # private to runpy


def _run_code(source: str, filename: str, **names: Any) -> None:
    _set_first_path("")
    code = compile(source, filename, "exec", dont_inherit=True)
    if sys.version_info >= (3, 13) and filename == "<string>":  # tracebacks show the lines of -c
        import linecache

        linecache._register_code(code, source, filename)
    exec(code, _main_namespace(**names))


def _run_terminal() -> None:
    """Run the interactive interpreter in `__main__`."""
    import code

    try:
        import readline  # noqa: F401  # line editing, as python has it
    except ImportError:
        pass
    _set_first_path("")
    import undertow

    banner = f"Python {sys.version} on {sys.platform}\nimport torch imports Undertow {undertow.__version__}."
    code.interact(banner=banner, local=_main_namespace(), exitmsg="")


def _module_to_run(name: str) -> str:
    """Return the module that `-m name` runs: for torch.x it is our module, because runpy needs the name that its code was loaded by."""
    return (_our_name(name) if name.startswith("torch.") else None) or name


def main() -> None:
    """Run the program that `sys.argv` names."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return
    install()
    if "PMI_RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ:  # started by mpiexec
        from undertow.distributed._launcher.rank import fill_environment

        fill_environment()
    sys.excepthook = _excepthook
    run_program(arguments, USAGE)


def run_program(arguments: list[str], usage: str) -> None:
    """Run a program as `python` does with these arguments: a script, -m module, -c code, - or nothing."""
    if not arguments or arguments[0] == "-":
        sys.argv = arguments or [""]
        if sys.stdin is not None and sys.stdin.isatty():
            _run_terminal()
        elif sys.stdin is not None:
            _run_code(sys.stdin.read(), "<stdin>", __file__="<stdin>", __cached__=None)
    elif arguments[0].startswith("-m") or arguments[0].startswith("-c"):
        option, joined = arguments[0][:2], arguments[0][2:]
        rest = ([joined] if joined else []) + arguments[1:]
        if not rest:
            print(f"Argument expected for the {option} option\n{usage}", file=sys.stderr, end="")
            raise SystemExit(2)
        if option == "-c":
            sys.argv = ["-c", *rest[1:]]
            _run_code(rest[0], "<string>")
        else:
            sys.argv = ["-m", *rest[1:]]
            _main_namespace()
            runpy._run_module_as_main(_module_to_run(rest[0]))  # type: ignore[attr-defined]  # private to runpy
    elif arguments[0].startswith("-"):
        print(f"unknown option {arguments[0]}: options of python itself go before -m\n{usage}", file=sys.stderr, end="")
        raise SystemExit(2)
    else:
        sys.argv = arguments
        _run_script(arguments[0])
