"""Compile and link C++ sources into an extension: the build cache, its lock, and the checks of its folders.

Knows files, compilers and processes; not what the sources contain. `cpp_extension.py` is the public side.

Note [Build Cache]
A build has a folder of its own, `<build directory>/<name>-<key>-<headers>`, where the key is a hash of all that determines the result: the sources,
the flags, the compiler's version, Undertow's version and headers. Other headers that the sources include are found by the compiler; the manifest
beside the library lists them with their hashes, and a build is used again only if none has changed. A folder is filled under a temporary name
and then renamed, so that a process that is killed leaves nothing half written. Processes that build the same name wait for each other by a file
lock, which the system releases when its owner ends.

The library is loaded only if nobody else could have written it: the folders above it belong to this user or to root and are not writable for
everybody, and the library's hash is the one in the manifest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_LINES = 60  # of a compiler's output in an exception


class Compiler:
    """The C++ compiler: `$CXX`, or the first of c++, g++ and clang++ that exists."""

    def __init__(self) -> None:
        self.command = shlex.split(get_cxx_compiler())
        if shutil.which(self.command[0]) is None:
            raise RuntimeError(f"no C++ compiler: {self.command[0]!r} was not found; install g++ or clang++, or set the environment variable CXX")
        try:
            self.version = subprocess.run([*self.command, "--version"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(f"the C++ compiler {' '.join(self.command)!r} does not run: {error}") from error
        self.is_clang = "clang" in self.version


def get_cxx_compiler() -> str:
    """Return the command of the C++ compiler: `$CXX`, or the first of c++, g++ and clang++ that exists."""
    return os.environ.get("CXX") or next((c for c in ("c++", "g++", "clang++") if shutil.which(c)), "c++")


def max_jobs(count: int) -> int:
    """Return how many compilers may run at once: `$MAX_JOBS`, or one for each processor."""
    text = os.environ.get("MAX_JOBS", "")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = int(text) if text.isdigit() and int(text) > 0 else available
    return max(1, min(count, limit))


def hash_of(*parts: str | bytes) -> str:
    """Return a hash of the parts and of where each one ends."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def file_hash(path: str) -> str:
    """Return the hash of a file's content."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def check_folder(path: str) -> str:
    """Return the real path of a folder, or raise if another user could replace what is in it."""
    real = os.path.realpath(path)
    own = (os.getuid(), 0)
    above = real
    while True:
        found = os.stat(above)
        open_to_all = bool(found.st_mode & stat.S_IWOTH)
        sticky = bool(found.st_mode & stat.S_ISVTX) and above != real
        if found.st_uid not in own:
            raise RuntimeError(
                f"cpp_extension: {above} belongs to user {found.st_uid}, not to this user ({own[0]}) or root, who could replace the libraries built"
                f" in {path}; choose another build_directory or set UNDERTOW_EXTENSIONS_DIR"
            )
        if open_to_all and not sticky:
            raise RuntimeError(
                f"cpp_extension: {above} is writable by every user, who could replace the libraries built in {path}; run `chmod o-w {above}`, or"
                " choose another build_directory"
            )
        if (parent := os.path.dirname(above)) == above:
            return real
        above = parent


def make_folder(path: str) -> str:
    """Create a folder that only this user can write to, if it does not exist, and return its real path after checking it."""
    if not os.path.isdir(path):
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    return check_folder(path)


@contextlib.contextmanager
def locked(folder: str, name: str) -> Iterator[None]:
    """Hold the lock of a name in a folder; other processes wait."""
    import fcntl

    file = os.open(os.path.join(folder, f".{name}.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def run(command: Sequence[str], name: str, doing: str, verbose: bool) -> str:
    """Run a compiler, and raise with its messages if it fails. Returns its output."""
    if verbose:
        print(" ".join(shlex.quote(c) for c in command), file=sys.stderr, flush=True)
    done = subprocess.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == 0:
        if verbose and done.stdout:
            print(done.stdout, end="", file=sys.stderr)
        return done.stdout
    lines = done.stdout.splitlines()
    first = next((i for i, line in enumerate(lines) if "error:" in line or "undefined reference" in line), 0)
    start = max(0, first - 3)
    shown = lines[start : start + _MOST_LINES]
    cut = f"\n... ({len(lines) - len(shown)} more lines; verbose=True prints them all)" if len(lines) > len(shown) else ""
    if verbose:
        print(done.stdout, end="", file=sys.stderr)
    why = "" if lines else f" (exit status {done.returncode}, without a message)"
    text = "\n".join(shown)
    written = " ".join(map(shlex.quote, command))
    raise RuntimeError(f"Error building extension '{name}': {doing} failed{why}:\n{text}{cut}\nThe command was: {written}")


def included_files(depfile: str) -> list[str]:
    """Return the files that a compiler wrote to a dependency file, without the source itself."""
    with open(depfile, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read().replace("\\\n", " ")
    words = text.partition(": ")[2].replace("\\ ", "\0").split()
    return [os.path.abspath(w.replace("\0", " ")) for w in words[1:]]


class Build:
    """One build: what goes into it, where it is kept, and how it is run."""

    def __init__(self, name: str, folder: str, compiler: Compiler, flags: list[str], links: list[str], stamp: str, verbose: bool) -> None:
        self.name, self.folder, self.compiler, self.stamp, self.verbose = name, folder, compiler, stamp, verbose
        self.flags, self.links = flags, links
        self.suffix = ""
        self.output_flags = ["-shared"] if sys.platform != "darwin" else ["-bundle", "-undefined", "dynamic_lookup"]

    def _key(self, sources: dict[str, bytes]) -> str:
        what = [self.stamp, self.compiler.version, " ".join(self.compiler.command), *self.flags, "|", *self.links, "|", self.suffix]
        what += self.output_flags
        for path, content in sources.items():
            what += [path, hashlib.sha256(content).hexdigest()]
        return hash_of(*what)[:16]

    def _usable(self, folder: str, library: str) -> bool:
        """Return True if the folder has a finished build whose headers are unchanged."""
        try:
            check_folder(folder)
            with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
                manifest = json.load(file)
            return file_hash(library) == manifest["library"] and all(file_hash(path) == found for path, found in manifest["headers"].items())
        except (OSError, ValueError, KeyError):
            return False

    def finish(self, sources: list[str], inline: dict[str, str]) -> str:
        """Return the path of the built library. `inline` has the content of sources that exist only as text, by file name."""
        content: dict[str, bytes] = {}
        for path in sources:
            with open(path, "rb") as file:
                content[os.path.abspath(path)] = file.read()
        content.update({name: text.encode() for name, text in inline.items()})
        with locked(self.folder, self.name):
            start = f"{self.name}-{self._key(content)}-"
            for found in sorted(n for n in os.listdir(self.folder) if n.startswith(start)):
                library = os.path.join(self.folder, found, self.name + self.suffix)
                if self._usable(os.path.join(self.folder, found), library):
                    if self.verbose:
                        print(f"{self.name}: nothing has changed, uses {library}", file=sys.stderr)
                    return library
            work = tempfile.mkdtemp(prefix=f".{self.name}-", dir=self.folder)
            try:
                # Other headers, another folder: a process that has loaded the library would not load it again from the same path.
                target = os.path.join(self.folder, start + self._compile(work, sources, inline))
                if os.path.lexists(target):
                    shutil.rmtree(target)
                os.rename(work, target)
            except BaseException:
                shutil.rmtree(work, ignore_errors=True)
                raise
            return os.path.join(target, self.name + self.suffix)

    def _compile(self, work: str, sources: list[str], inline: dict[str, str]) -> str:
        """Compile and link in the folder `work`; return a hash of the headers that were included."""
        for name, text in inline.items():
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write(text)
        everything = [*map(os.path.abspath, sources), *(os.path.join(work, name) for name in inline)]
        objects = [os.path.join(work, f"{i}-{os.path.splitext(os.path.basename(path))[0]}.o") for i, path in enumerate(everything)]

        def one(pair: tuple[str, str]) -> str:
            path, obj = pair
            command = [*self.compiler.command, "-MMD", "-MF", obj + ".d", *self.flags, "-c", path, "-o", obj]
            return run(command, self.name, f"compiling {os.path.basename(path)}", self.verbose)

        with ThreadPoolExecutor(max_jobs(len(objects))) as pool:
            list(pool.map(one, zip(everything, objects, strict=True)))
        library = os.path.join(work, self.name + self.suffix)
        run([*self.compiler.command, *self.output_flags, *objects, "-o", library, *self.links], self.name, "linking", self.verbose)
        headers = {path for obj in objects for path in included_files(obj + ".d") if not path.startswith(work)}
        manifest = {"library": file_hash(library), "headers": {path: file_hash(path) for path in sorted(headers) if not path.endswith(".gch")}}
        for obj in objects:
            os.remove(obj)
            os.remove(obj + ".d")
        with open(os.path.join(work, "manifest.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
        return hash_of(json.dumps(manifest["headers"]))[:8]


def precompiled(folder: str, compiler: Compiler, header: str, flags: list[str], stamp: str, verbose: bool) -> list[str]:
    """Return the flags that make `#include <header>` as a file's first line use a precompiled header, which is built on first use.

    Only GCC finds one by the name of the header; with Clang nothing is precompiled.
    """
    if compiler.is_clang:
        return []
    key = hash_of(stamp, compiler.version, " ".join(compiler.command), header, *flags)[:16]
    target = os.path.join(folder, f"headers-{key}")
    made = os.path.join(target, header + ".gch")
    with locked(folder, "headers"):
        if not os.path.exists(made):
            work = tempfile.mkdtemp(prefix=".headers-", dir=folder)
            try:
                os.makedirs(os.path.dirname(os.path.join(work, header)), exist_ok=True)
                source = os.path.join(work, "precompiled.h")
                with open(source, "w", encoding="utf-8") as file:
                    file.write(f"#include <{header}>\n")
                command = [*compiler.command, *flags, "-x", "c++-header", source, "-o", os.path.join(work, header + ".gch")]
                run(command, "headers", f"precompiling {header}", verbose)
                for old in os.listdir(folder):
                    if old.startswith("headers-"):  # of another version or other flags: each takes many megabytes
                        _forget_old(os.path.join(folder, old))
                os.rename(work, target)
            except BaseException:
                shutil.rmtree(work, ignore_errors=True)
                raise
        os.utime(made)
    check_folder(target)
    return ["-I", target]


def _forget_old(path: str, keep: int = 3) -> None:
    """Remove a precompiled header unless it is among the newest ones."""
    folder = os.path.dirname(path)
    newest = sorted((os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("headers-")), key=os.path.getmtime, reverse=True)
    if path not in newest[: keep - 1]:
        shutil.rmtree(path, ignore_errors=True)


def python_include() -> list[str]:
    """Return the folder of Python.h, as flags."""
    return ["-isystem", sysconfig.get_paths()["include"]]
