"""A recording may come from anywhere: its strings are shown and never run, and a damaged one gives a clear message."""
from __future__ import annotations

import copy
import gzip

import pytest
import synthetic_recordings as synthetic


def test_strings_of_a_recording_are_shown_and_never_run(open_page):
    recording = synthetic.hostile()
    bad = recording["files"][0]["path"]
    opened = open_page(recording)
    page = opened.page
    page.keyboard.press("End")
    for tab in ("timeline", "memory", "gradients", "tables", "notes", "compare"):
        page.click(f"#tab-{tab}")
    page.click("text=Outline")
    page.fill("[type=search]", "onerror")
    assert bad[:40] in page.inner_text(".results")
    page.press("[type=search]", "Enter")
    page.evaluate("location.hash = '#tour'")
    page.wait_for_selector(".tour")
    assert "<img src=x" in page.inner_text("body")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("img").count() == 0 and page.locator("script").count() == 1


def test_the_policy_of_the_page_stops_foreign_scripts_and_connections(open_page):
    opened = open_page(synthetic.small())
    blocked = opened.page.evaluate("""async () => {
        const blocked = [];
        addEventListener('securitypolicyviolation', (e) => blocked.push(e.effectiveDirective));
        const script = document.createElement('script');
        script.textContent = 'window.hacked = 1';
        document.body.append(script);
        setTimeout('window.hacked = 1', 0);  // a string to evaluate
        await fetch('https://example.org/').catch(() => {});
        await new Promise((done) => setTimeout(done, 50));
        return blocked;
    }""")
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    assert {"script-src-elem", "script-src", "connect-src"} <= set(blocked)
    opened.complaints.clear()  # Chromium reports each of them


def broken(change) -> bytes:
    recording = copy.deepcopy(synthetic.small())
    change(recording)
    return synthetic.packed(recording)


DAMAGED = {
    "cut off": (lambda: synthetic.packed(synthetic.small())[:700], "damaged or cut off"),
    "no gzip": (lambda: b"\x00\x01\x02", "neither a gzip file nor JSON"),
    "no json": (lambda: gzip.compress(b'{"format": '), "valid JSON"),
    "a list": (lambda: gzip.compress(b"[1, 2]"), "not an object"),
    "another format": (lambda: gzip.compress(b'{"format": "chrome-trace"}'), "not a recording of undertow.inspect"),
    "a later version": (lambda: broken(lambda r: r.update(version=2)), "format version 2"),
    "a node that does not exist": (lambda: broken(lambda r: r["edges"]["to"].__setitem__(0, 99)), "edges.to[0] is 99"),
    "a negative index": (lambda: broken(lambda r: r["events"]["node"].__setitem__(3, -7)), "events.node[3] is -7"),
    "a short column": (lambda: broken(lambda r: r["nodes"]["line"].pop()), "nodes.line has 8 entries; the table has 9 rows"),
    "a wrong type": (lambda: broken(lambda r: r["events"]["time"].__setitem__(0, "now")), "events.time[0]"),
    "an unknown event": (lambda: broken(lambda r: r["events"]["kind"].__setitem__(0, 77)), "events.kind[0] is 77"),
    "a module inside itself": (lambda: broken(lambda r: r["modules"].update(path_s=[0, 0], class_s=[0, 0], parent=[-1, 1])), "modules.parent[1]"),
    "modules nested without end": (lambda: broken(lambda r: r["modules"].update(path_s=[0] * 500, class_s=[0] * 500, parent=list(range(-1, 499)))), "nested more than 200 deep"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_recording_gives_a_clear_message(open_page, damage):
    make, message = DAMAGED[damage]
    opened = open_page(make(), wait=False)
    opened.page.wait_for_selector(".message.bad")
    assert message in opened.page.inner_text(".message")


def test_a_cyclic_graph_is_drawn_all_the_same(open_page):
    recording = synthetic.small()
    for key, value in zip(recording["edges"], (0, 0, 8, 0)):
        recording["edges"][key].append(value)
    opened = open_page(recording)
    opened.page.keyboard.press("End")
    assert "finished" in opened.page.inner_text(".sentence")


def test_a_damaged_second_file_leaves_the_first_on_the_page(open_page, tmp_path):
    (tmp_path / "bad.utrace").write_bytes(b"\x1f\x8bxx")
    opened = open_page(synthetic.small())
    with opened.page.expect_file_chooser() as chooser:
        opened.page.click(".top >> text=Open")
    chooser.value.set_files(tmp_path / "bad.utrace")
    opened.page.wait_for_selector(".toast")
    assert "cannot be shown" in opened.page.inner_text(".toast") and "9 nodes" in opened.page.inner_text(".top")
