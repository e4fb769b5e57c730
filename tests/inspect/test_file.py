"""Files of recordings: what is written is read again, and a damaged or hostile file gives a clear error."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from pathlib import Path

import pytest

import undertow as ut
from undertow.inspect import Recording, _file, _page, record


@pytest.fixture(scope="module")
def recorded() -> Recording:
    model = ut.nn.Sequential(ut.nn.Linear(2, 3), ut.nn.Tanh())
    with record(forward=True, values=True) as r:
        y = model(ut.rand(4, 2))
        y.register_hook(lambda g: g)
        y.sum().backward()
    return r


def plain(r: Recording) -> dict:
    return json.loads(gzip.decompress(_file.packed(r.data)))


def written(path, data) -> str:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    path.write_bytes(gzip.compress(text))
    return str(path)


def test_a_recording_is_the_same_after_saving_and_loading(recorded, tmp_path):
    recorded.save(tmp_path / "run.utrace")
    again = Recording.load(tmp_path / "run.utrace")
    assert again.data == plain(recorded)
    assert again.order() == recorded.order() and str(again.explain()) == str(recorded.explain())


def test_saving_twice_gives_the_same_bytes(recorded):
    assert _file.packed(recorded.data) == _file.packed(recorded.data)


def test_a_file_is_a_plain_gzip_member_of_json(recorded, tmp_path):
    recorded.save(tmp_path / "run.utrace")
    assert json.loads(gzip.decompress((tmp_path / "run.utrace").read_bytes()))["format"] == "undertow-trace"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut off"),
        (b"not gzip at all", "damaged or not a gzip file"),
        (gzip.compress(b"{"), "no JSON"),
        (gzip.compress(b"[" * 100_000), "no JSON"),
        (gzip.compress(b"[]"), "format"),
        (gzip.compress(b'{"format": "undertow-trace", "version": 2}'), "version is 2"),
        (gzip.compress(b'{"format": "undertow-trace", "version": NaN}'), "NaN is not allowed"),
        (gzip.compress(b"x" * 100)[:-20], "cut off"),
    ],
    ids=["empty", "not gzip", "half an object", "deep", "a list", "a later version", "NaN", "half a file"],  # not the bytes: they have a time
)
def test_a_file_that_is_no_recording_says_why(content, message, tmp_path):
    path = tmp_path / "bad.utrace"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as info:
        Recording.load(path)
    assert "bad.utrace" in str(info.value)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_file, "MOST_BYTES", 1000)
    path = tmp_path / "bomb.utrace"
    path.write_bytes(zlib.compress(b" " * 100_000, wbits=31))
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        Recording.load(path)


def break_it(data: dict, table: str, column: str, value: object) -> None:
    data[table][column][0] = value


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("nodes", "name_s", 10**9),
        ("nodes", "name_s", -2),
        ("nodes", "name_s", True),
        ("nodes", "name_s", "0"),
        ("nodes", "file", 99),
        ("nodes", "module", 99),
        ("nodes", "call", 99),
        ("calls", "module", 99),
        ("calls", "parent", 99),
        ("nodes", "line", "12"),
        ("nodes", "stack", [[0, 1]]),
        ("nodes", "stack", [[99, 1, 0]]),
        ("nodes", "outputs", [["float32", "wide"]]),
        ("nodes", "saved", [["self", "float32", [2]]]),
        ("edges", "to", 10**6),
        ("edges", "from", -1),
        ("edges", "from", None),
        ("passes", "parent", 7),
        ("passes", "roots", [10**6]),
        ("passes", "captures", [[1]]),
        ("events", "node", 10**6),
        ("events", "kind", 99),
        ("events", "kind", -1),
        ("events", "time", "now"),
        ("events", "memory", 1.5),
        ("values", "norm", "big"),
        ("values", "event", 10**7),
        ("values", "histogram", {"edges": 1, "counts": []}),
        ("values", "event", -1),
        ("modules", "parent", 50),
        ("modules", "parent", 0),
        ("operators", "grads", [["self"]]),
        ("params", "shape", ["x"]),
        ("hooks", "node", 10**6),
    ],
)
def test_every_wrong_entry_is_found(recorded, table, column, value, tmp_path):
    data = plain(recorded)
    break_it(data, table, column, value)
    with pytest.raises(ValueError, match=f"{table}.{column}"):
        Recording.load(written(tmp_path / "bad.utrace", data))


def test_missing_tables_and_columns_and_unequal_lengths_are_found(recorded, tmp_path):
    for table in _file.TABLES:
        data = plain(recorded)
        del data[table]
        with pytest.raises(ValueError, match=table):
            Recording.load(written(tmp_path / "bad.utrace", data))
    data = plain(recorded)
    data["events"]["time"].pop()
    with pytest.raises(ValueError, match="different lengths"):
        Recording.load(written(tmp_path / "bad.utrace", data))


def test_unknown_keys_are_ignored(recorded, tmp_path):
    data = plain(recorded)
    data["later"] = {"x": 1}
    data["nodes"]["later"] = ["anything"]
    assert Recording.load(written(tmp_path / "new.utrace", data)).order() == recorded.order()


def test_bytes_changed_at_random_never_give_another_kind_of_error(recorded):
    whole = _file.packed(recorded.data)
    text = gzip.decompress(whole)
    chance = random.Random(0)
    refused = 0
    for k in range(120):
        source = bytearray(whole if k % 2 else text)
        for _ in range(chance.randint(1, 4)):
            source[chance.randrange(len(source))] = chance.randrange(256)
        try:
            found = Recording(_file.unpacked(bytes(source) if k % 2 else gzip.compress(bytes(source), 1)))
        except ValueError:
            refused += 1
            continue
        found.order()
        str(found.explain())
        found.to_dot()
        found.to_perfetto()
    assert refused > 60


def everything_of(r: Recording) -> None:
    str(r.explain()), r.order(), r.norms(), r.slowest(), r.critical_path(), r.first_nonfinite()
    str(ut.inspect.draw(r)), str(ut.inspect.draw(r, most_boxes=3)), str(ut.inspect.diff(r, r))
    r.to_dot(), r.to_perfetto(), r.to_html(), _file.packed(r.data)


def test_a_file_with_any_row_number_replaced_is_refused_or_usable_in_every_way(recorded):
    """Rows that exist but are the wrong ones: cycles of modules, passes and nodes must not make anything run for ever."""
    chance = random.Random(0)
    usable = 0
    rows = [
        (table, column)
        for table, columns in _file.TABLES.items()
        for column, what in columns.items()
        if what.strip("<!") in (*_file.TABLES, "strings", "files", "")
    ]
    for _ in range(300):
        data = plain(recorded)
        for table, column in chance.sample(rows, 3):
            values = data[table][column]
            if values:
                values[chance.randrange(len(values))] = chance.randrange(-1, len(values))
        try:
            found = Recording(_file.unpacked(gzip.compress(json.dumps(data).encode(), 1)))
        except ValueError:
            continue
        everything_of(found)
        usable += 1
    assert usable > 50


@pytest.mark.parametrize(
    "note", [{"text": 1}, {"text": "x", "node": 10**6}, {"text": "x", "node": None}, {"text": "x", "parameter": [1]}, {"text": "x", "reason": {}}]
)
def test_a_note_has_texts_and_the_row_of_a_node(recorded, note, tmp_path):
    with pytest.raises(ValueError, match="notes"):
        Recording.load(written(tmp_path / "bad.utrace", {**plain(recorded), "notes": [note]}))


def test_strings_of_a_file_cannot_leave_their_place_in_the_page(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr(_page, "template", lambda: "<html><!--UTRACE--></html>")
    data = plain(recorded)
    data["strings"] = [s + "</script><script>alert(1)</script>" for s in data["strings"]]
    page = Recording.load(written(tmp_path / "evil.utrace", data)).to_html()
    assert page.count("<script") == 1 and "alert" not in page


def test_the_page_holds_the_file(recorded, tmp_path, monkeypatch):
    import base64
    import re

    monkeypatch.setattr(_page, "template", lambda: "<html><!--UTRACE--></html>")
    path = recorded.show(tmp_path / "page.html", open_page=False)
    text = Path(path).read_text(encoding="utf-8")
    inside = re.search(r'<script type="application/octet-stream" id="utrace">([^<]*)</script>', text)
    data = _file.unpacked(base64.b64decode(inside[1]))
    assert data["nodes"] == plain(recorded)["nodes"]


def test_two_recordings_in_one_page(recorded, monkeypatch):
    monkeypatch.setattr(_page, "template", lambda: "<html><!--UTRACE--></html>")
    page = recorded.to_html(compare=recorded)
    assert 'id="utrace"' in page and 'id="utrace2"' in page
