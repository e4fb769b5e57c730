"""Reading and writing .utrace files: a gzip member that holds one JSON object. See docs/trace_format.md.

A file may come from anywhere, so everything in it is checked before it is used; nothing in it is run.
"""

from __future__ import annotations

import gzip
import json
import zlib
from math import isfinite
from pathlib import Path

from undertow.inspect._tables import EVENT_NAMES, without_collector

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, NoReturn

VERSION = 1
MOST_BYTES = 1 << 30  # unpacked

# The columns of each table, with what they hold: rows of a table, `strings` or `files` (-1: none; ! forbids it), earlier rows of the same
# table (<), or a type; ? allows null.
_COLUMNS = """
modules: path_s=strings class_s=strings parent=<
calls: module=modules! parent=<
operators: name_s=strings doc_s=strings forward_s=strings grads=list
nodes: name_s=strings! kind=int sequence=int operator=operators file=files line=int? function_s=strings stack=list? module=modules call=calls
nodes: outputs=list saved=list leaf_s=strings forward_time=int? forward_thread=int?
edges: from=nodes! from_slot=int to=nodes! to_slot=int
passes: number=int parent=< depth=int thread=int kind_s=strings start=int end=int keep_graph=bool create_graph=bool roots=list
passes: captures=list error_s=strings step=int
events: kind=int time=int thread=int pass=passes node=nodes other=int slot=int dependencies=int memory=int?
threads: number=int name_s=strings
values: event=events! node=nodes! slot=int norm=number? min=number? max=number? mean=number? zeros=int? nan=int? inf=int? size=int
values: histogram=dict?
params: name_s=strings node=nodes module=modules shape=list dtype=str grad=str
hooks: node=nodes! kind=str name_s=strings file=files line=int?
"""
TABLES: dict[str, dict[str, str]] = {}
for _table, _, _columns in (line.partition(": ") for line in _COLUMNS.strip().splitlines()):
    TABLES.setdefault(_table, {}).update(column.partition("=")[::2] for column in _columns.split())
_TYPES: dict[str, Any] = {"int": int, "number": (int, float), "bool": bool, "list": list, "dict": dict, "str": str}


def write(path: str | os.PathLike[str], data: dict[str, Any]) -> None:
    """Write a recording."""
    Path(path).write_bytes(packed(data))


def packed(data: dict[str, Any]) -> bytes:
    """Return a recording as the bytes of a file; the same recording gives the same bytes."""
    return gzip.compress(json.dumps(data, separators=(",", ":"), allow_nan=False).encode(), compresslevel=4, mtime=0)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a recording, and check all of it."""
    return unpacked(Path(path).read_bytes(), str(path))


@without_collector()
def unpacked(data: bytes, name: str = "recording") -> dict[str, Any]:
    """Return the recording in the bytes of a file, after checking all of it."""

    def fail(why: str) -> NoReturn:
        raise ValueError(f"{name}: not a valid recording: {why}")

    text = _gunzip(data, fail)
    try:
        found = json.loads(text, parse_constant=lambda word: fail(f"the number {word} is not allowed"))
    except (ValueError, RecursionError) as error:
        if str(error).startswith(f"{name}: not a valid recording"):
            raise
        fail(f"no JSON: {error}")
    check(found, fail)
    return found


def _gunzip(data: bytes, fail: Any) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        fail(f"damaged or not a gzip file ({error})")
    if len(text) > MOST_BYTES:
        fail(f"it unpacks to more than {MOST_BYTES} bytes")
    if not unpacker.eof:
        fail("the file is cut off")
    return text


def check(found: Any, fail: Any) -> None:
    """Check every table, column and index of a recording; call fail(text) for the first fault."""
    if not isinstance(found, dict) or found.get("format") != "undertow-trace":
        fail('"format" should be "undertow-trace"')
    if found.get("version") != VERSION:
        fail(f"its version is {found.get('version')!r}, this program reads version {VERSION}")
    if not isinstance(found.get("meta"), dict):
        fail('"meta" should be an object')
    ranks = found["meta"].get("ranks")
    if ranks is not None and not (isinstance(ranks, list) and len(ranks) == 2 and all(type(n) is int for n in ranks)):
        fail('"meta.ranks" should be null or a list of a rank and the number of ranks')
    strings = found.get("strings")
    if not isinstance(strings, list) or not all(isinstance(s, str) for s in strings):
        fail('"strings" should be a list of strings')
    files = found.get("files")
    if not isinstance(files, list) or not all(_is_file(f) for f in files):
        fail('"files" should be a list of objects with "path" and "text"')
    lengths = {"strings": len(strings), "files": len(files)}
    for name, columns in TABLES.items():
        lengths[name] = _length(name, found.get(name), columns, fail)
    for name, columns in TABLES.items():
        for column, what in columns.items():
            _check_column(f"{name}.{column}", found[name][column], what, lengths, fail)
    for kind in found["events"]["kind"]:
        if not 0 <= kind < len(EVENT_NAMES):
            fail(f"events.kind: {kind} is no kind of event")
    _check_lists(found, lengths, fail)
    notes = found.setdefault("notes", [])
    if not isinstance(notes, list) or not all(_is_note(n, lengths["nodes"]) for n in notes):
        fail('"notes" should be a list of objects with a "text" and a row of nodes')


def _is_file(f: Any) -> bool:
    return isinstance(f, dict) and isinstance(f.get("path"), str) and isinstance(f.get("text"), (str, type(None)))


def _is_note(note: Any, nodes: int) -> bool:
    texts = ("text", "level", "reason", "parameter", "holder")
    if not isinstance(note, dict) or not isinstance(note.get("text"), str) or not all(isinstance(note.get(key, ""), str) for key in texts):
        return False
    node = note.get("node", -1)
    return type(node) is int and -1 <= node < nodes


def _length(name: str, table: Any, columns: dict[str, str], fail: Any) -> int:
    if not isinstance(table, dict):
        fail(f'"{name}" should be a table')
    for column in columns:
        if not isinstance(table.get(column), list):
            fail(f"{name}.{column} should be a list")
    lengths = {len(table[column]) for column in columns}
    if len(lengths) != 1:
        fail(f"the columns of {name} have different lengths: {sorted(lengths)}")
    return lengths.pop()


def _check_column(name: str, column: list[Any], what: str, lengths: dict[str, int], fail: Any) -> None:
    if what == "<":
        for row, value in enumerate(column):
            if type(value) is not int or not -1 <= value < row:
                fail(f"{name}: {_shown(value)} is no earlier row than {row}")
        return
    if what.rstrip("!") in lengths:
        least, most = 0 if what.endswith("!") else -1, lengths[what.rstrip("!")]
        if set(map(type, column)) <= {int} and (not column or (min(column) >= least and max(column) < most)):
            return
        for value in column:
            if type(value) is not int or not least <= value < most:
                fail(f"{name}: {_shown(value)} is no row of {what.rstrip('!')}, which has {most}")
        return
    optional = what.endswith("?")
    wanted = _TYPES[what.rstrip("?")]
    if set(map(type, column)) <= {wanted, type(None) if optional else wanted}:
        return
    for value in column:
        if value is None and optional:
            continue
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            fail(f"{name}: {_shown(value)} should be of type {what.rstrip('?')}")
        if isinstance(value, float) and not isfinite(value):
            fail(f"{name}: {value} is not finite")


def _check_lists(found: dict[str, Any], lengths: dict[str, int], fail: Any) -> None:
    """Check the lists in columns: shapes, saved tensors, stacks, roots and captures."""

    def ints(values: Any) -> bool:
        return isinstance(values, list) and all(type(v) is int for v in values)

    def is_shape(item: Any) -> bool:
        return isinstance(item, list) and len(item) >= 2 and isinstance(item[0], (str, type(None))) and ints(item[1])

    def is_saved(item: Any) -> bool:
        return isinstance(item, list) and len(item) == 5 and isinstance(item[0], str) and is_shape(item[1:3]) and ints(item[3:])

    def is_frame(item: Any) -> bool:
        return ints(item) and len(item) == 3 and -1 <= item[0] < lengths["files"] and -1 <= item[2] < lengths["strings"]

    def is_row(item: Any) -> bool:
        return type(item) is int and -1 <= item < lengths["nodes"]

    def is_capture(item: Any) -> bool:
        return ints(item) and len(item) == 2 and is_row(item[0])

    def is_gradient(item: Any) -> bool:
        return isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) for part in item)

    places = (
        ("nodes", "outputs", is_shape), ("nodes", "saved", is_saved), ("nodes", "stack", is_frame), ("passes", "roots", is_row),
        ("passes", "captures", is_capture), ("operators", "grads", is_gradient), ("params", "shape", lambda n: type(n) is int),
    )  # fmt: skip
    for table, column, right in places:
        for items in found[table][column]:
            for item in items or ():
                if not right(item):
                    fail(f"{table}.{column}: {_shown(item)} is not valid here")
    for histogram in found["values"]["histogram"]:
        if histogram is None:
            continue
        edges, counts = histogram.get("edges"), histogram.get("counts")
        if not isinstance(edges, list) or not ints(counts) or not all(isinstance(e, (int, float)) and isfinite(e) for e in edges):
            fail(f"values.histogram: {_shown(histogram)} is not valid here")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
