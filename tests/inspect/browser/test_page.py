"""The page shows a recording: it draws, steps, plays, opens modules, searches, links and exports."""
from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
import synthetic_recordings as synthetic
from synthetic_recordings import KINDS


def states(recording: dict):
    """An independent replay: after each event the names of the running, ready and waiting nodes."""
    events, nodes, strings = recording["events"], recording["nodes"], recording["strings"]
    running, ready, waiting = set(), set(), set()

    def name(node: int) -> str:
        leaf = nodes["leaf_s"][node]
        return f"{strings[leaf]}.grad" if leaf >= 0 else strings[nodes["name_s"][node]]

    for kind, node in zip(events["kind"], events["node"]):
        if kind == KINDS["ready"]:
            waiting.discard(node)
            ready.add(node)
        elif kind == KINDS["started"]:
            ready.discard(node)
            running.add(node)
        elif kind == KINDS["finished"]:
            running.discard(node)
        elif kind == KINDS["arrived"]:
            waiting.add(node)
        yield {state: sorted(map(name, members)) for state, members in (("running", running), ("ready", ready), ("waiting", waiting))}


@pytest.fixture(scope="module")
def small():
    return synthetic.small()


@pytest.fixture(scope="module")
def transformer():
    return synthetic.transformer(layers=4)


def test_the_page_opens_without_a_network_and_draws_the_graph(open_page, small):
    opened = open_page(small)
    colors = opened.page.evaluate("""() => {
        const canvas = document.querySelector('.graph canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        return seen.size;
    }""")
    assert colors > 20
    assert "9 nodes" in opened.page.inner_text(".top") and "train.py" in opened.page.inner_text(".top")


def test_every_step_shows_the_queue_and_the_waiting_nodes_of_the_engine(open_page, small):
    opened = open_page(small)
    opened.page.keyboard.press("Home")
    expected = list(states(small))
    assert opened.walk("ArrowRight", len(expected)) == expected
    assert opened.walk("ArrowLeft", len(expected) - 1) == expected[-2::-1]


def test_a_waiting_node_shows_its_buffer_and_what_is_missing(open_page, small):
    events = small["events"]
    first = next(i for i, kind in enumerate(events["kind"]) if kind == KINDS["arrived"] and events["dependencies"][i] == 1)
    opened = open_page(small, f"#event={first}")
    row = opened.page.inner_text(".engine .state-waiting li")
    assert "weight.grad" in row and "1 left" in row
    assert opened.page.locator(".engine .slot.filled").count() == 1


def test_shift_and_arrow_go_from_node_to_node(open_page, small):
    opened = open_page(small)
    seen = []
    for _ in range(3):
        opened.page.keyboard.press("Shift+ArrowRight")
        seen += opened.listed("running")
    assert seen == ["MeanBackward0", "PowBackward0", "MulBackward0"]


def test_playing_reaches_the_end_and_stops(open_page, small):
    opened = open_page(small)
    opened.page.select_option(".transport select", "4096")
    opened.page.keyboard.press("Space")
    opened.page.wait_for_selector(".play[aria-pressed=false]")
    assert opened.event == len(small["events"]["kind"]) - 1
    assert opened.listed("running") == opened.listed("ready") == opened.listed("waiting") == []


def test_modules_open_and_close_by_key_and_in_the_outline(open_page, transformer):
    opened = open_page(transformer, "#open=")
    page = opened.page
    page.click("text=Outline")
    page.click("[role=treeitem] >> text=layers")
    page.wait_for_selector("[role=treeitem][aria-expanded=true] >> text=layers")
    page.click("[role=treeitem] >> text=/^2$/")
    page.wait_for_selector("[role=treeitem] >> text=attn")
    assert opened.address()["open"] == "layers%2Clayers.2"
    page.focus(".graph canvas")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=treeitem] >> text=attn", state="detached")
    page.keyboard.press("Shift+E")
    assert page.locator("[role=treeitem] >> text=NllLossBackward0").count() == 1
    page.keyboard.press("Shift+C")
    assert page.locator("[role=treeitem][aria-expanded=true]").count() == 0


def test_a_click_selects_and_a_double_click_opens(open_page, transformer):
    opened = open_page(transformer, "#open=")
    page = opened.page
    page.keyboard.press("0")
    area = page.locator(".graph canvas").bounding_box()
    x = area["x"] + area["width"] / 2
    for y in range(round(area["y"]) + 20, round(area["y"] + area["height"]) - 40, 12):
        page.mouse.click(x, y)
        if page.inner_text(".node").startswith("layers"):
            break
    assert "nodes" in page.inner_text(".node") and page.inner_text(".node button") == "Open"
    page.mouse.dblclick(x, y)
    assert "layers" in opened.address()["open"]


def test_search_finds_a_parameter_and_shows_everything_about_it(open_page, small):
    opened = open_page(small)
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.type("mulback train.py:8")
    page.keyboard.press("Enter")
    text = page.inner_text(".node")
    for part in ("MulBackward0", "∂self = grad * other", "Product, element by element.", "8×16", "float32", "print_norm", "project/train.py:8", "TanhBackward0"):
        assert part in text, part
    assert "ut.tanh(h) * 0.5" in page.inner_text(".node .code-line.current")


def test_the_first_nan_is_one_click_away(open_page):
    opened = open_page(synthetic.transformer(layers=4, nan_layer=2))
    opened.page.click("text=First NaN or Inf")
    text = opened.page.inner_text(".node")
    assert "SoftmaxBackward0" in text and "NaN" in text and "layers.2.attn" in text
    assert opened.listed("running") == ["SoftmaxBackward0"]
    opened.page.click("[role=tab] >> text=Gradients")
    assert "Go to the first: SoftmaxBackward0" in opened.page.inner_text(".bottom")


def test_norms_of_several_passes_are_listed_by_parameter(open_page):
    opened = open_page(synthetic.transformer(layers=2, steps=3), "#tab=gradients")
    text = opened.page.inner_text(".bottom")
    assert "3 passes" in text and "layers.1.mlp.up.weight" in text and "vanishing" in text
    assert opened.page.locator(".bottom .spark").count() > 20


def test_memory_says_which_lines_and_modules_hold_it(open_page, transformer):
    opened = open_page(transformer, "#tab=memory")
    opened.page.wait_for_selector(".holders td")
    assert "train.py:8" in opened.page.inner_text(".holders")
    opened.page.click("text=by module")
    assert "layers.3.attn" in opened.page.inner_text(".holders")
    opened.page.keyboard.press("End")
    opened.page.wait_for_selector("text=No saved tensors are alive")


def test_tables_list_the_slowest_and_the_largest(open_page, transformer):
    opened = open_page(transformer, "#tab=tables")
    tables = opened.page.locator(".bottom table").all_inner_texts()
    assert len(tables) == 2 and "EmbeddingBackward0" in tables[1]


def test_two_recordings_are_compared(open_page, tmp_path):
    other = synthetic.transformer(layers=4, nan_layer=2)
    other["nodes"]["outputs"][40][0][1] = [1, 2, 3]
    (tmp_path / "other.utrace").write_bytes(synthetic.packed(other))
    opened = open_page(synthetic.transformer(layers=4, values=True))
    with opened.page.expect_file_chooser() as chooser:
        opened.page.click(".top >> text=Compare")
    chooser.value.set_files(tmp_path / "other.utrace")
    opened.page.wait_for_selector(".verdict")
    text = opened.page.inner_text(".bottom")
    assert "Structure" in text and "float32[1,2,3]" in text
    assert "SoftmaxBackward0" in text and "against" in text


def test_equal_recordings_have_no_difference(open_page, small, tmp_path):
    (tmp_path / "same.utrace").write_bytes(synthetic.packed(small))
    opened = open_page(small, "#tab=compare")
    with opened.page.expect_file_chooser() as chooser:
        opened.page.click("text=Open a second recording")
    chooser.value.set_files(tmp_path / "same.utrace")
    opened.page.wait_for_selector(".verdict")
    assert opened.page.locator(".verdict.differs").count() == 0


def test_a_link_leads_to_the_same_state(open_page, transformer):
    opened = open_page(transformer)
    opened.seek(123)
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("layers.1.mlp Gelu")
    opened.page.keyboard.press("Enter")
    opened.page.click("[role=tab] >> text=Memory")
    opened.page.keyboard.press("+")
    area = opened.page.locator(".graph canvas").bounding_box()
    x, y = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
    opened.page.mouse.move(x + 200, y + 100)
    opened.page.mouse.down()
    opened.page.mouse.move(x + 50, y + 20, steps=3)
    opened.page.mouse.up()
    opened.address()
    again = open_page(transformer, opened.page.evaluate("location.hash"))
    assert again.event == 123 and "Gelu" in again.page.inner_text(".node h2")
    assert again.page.get_attribute("#tab-memory", "aria-selected") == "true"
    assert again.address() == opened.address() and "view" in again.address()
    again.page.keyboard.press("Escape")
    again.page.mouse.click(x - 150, y - 80)  # where the selected node was moved
    assert "Gelu" in again.page.inner_text(".node h2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_can_be_changed(open_page, small, scheme):
    opened = open_page(small, color_scheme=scheme)
    read = "getComputedStyle(document.body).backgroundColor"
    before = opened.page.evaluate(read)
    opened.page.keyboard.press("t")
    opened.page.keyboard.press("t" if scheme == "light" else "Escape")
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "light"
    assert (opened.page.evaluate(read) == before) == (scheme == "light")


def test_the_graph_is_exported_as_svg_and_png(open_page, small, tmp_path):
    opened = open_page(small)
    for kind in ("SVG", "PNG"):
        opened.page.click("text=Export")
        with opened.page.expect_download() as download:
            opened.page.click(f"text=Graph as {kind}")
        download.value.save_as(tmp_path / kind)
    drawn = ElementTree.parse(tmp_path / "SVG")
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Tanh", "Addmm", "weight", "bias"} <= texts
    assert (tmp_path / "PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_pass_inside_a_pass_is_named(open_page):
    recording = synthetic.reentrant()
    inner = [i for i, kind in enumerate(recording["events"]["kind"]) if kind == KINDS["started"]][2]
    opened = open_page(recording, f"#event={inner}")
    assert "reentrant depth 1" in opened.page.inner_text(".engine")
    assert opened.listed("running") == ["TanhBackward0", "CheckpointBackward"]


def test_a_pass_that_failed_says_where_and_why(open_page):
    opened = open_page(synthetic.failing())
    opened.page.keyboard.press("End")
    assert "wrong shape" in opened.page.inner_text(".sentence")
    opened.page.click("[role=tab] >> text=Findings")
    assert "wrong shape" in opened.page.inner_text(".bottom")


def test_the_tour_stands_at_the_events_it_speaks_of(open_page, small):
    opened = open_page(small, "#tour")
    titles = []
    while True:
        titles.append(opened.page.inner_text(".tour h2"))
        text, sentence = opened.page.inner_text(".tour"), opened.page.inner_text(".sentence")
        if titles[-1] == "A hook runs":
            assert "print_norm" in sentence and "MulBackward0" in text
        if titles[-1] == "A partly filled buffer":
            assert "weight.grad" in text and opened.listed("waiting") == ["weight.grad"]
        if opened.page.inner_text(".tour button:last-child") == "End":
            break
        opened.page.click(".tour button:last-child")
    wanted = ["loss.backward() is called", "The root", "Dependencies", "The first node runs", "A gradient arrives", "A hook runs", "The gradient reaches .grad", "The pass is over"]
    assert [title for title in titles if title in wanted] == wanted
    opened.page.click(".tour button:last-child")
    assert opened.page.locator(".tour").count() == 0


def test_every_control_has_a_name_and_a_role(open_page, transformer):
    opened = open_page(transformer)
    for tab in ("timeline", "memory", "gradients", "tables", "notes", "compare"):
        opened.page.click(f"#tab-{tab}")
        nameless = opened.page.evaluate("""() => [...document.querySelectorAll('button, input, select, [tabindex="0"]')].filter(e => {
            const labelled = e.getAttribute('aria-label') || e.textContent.trim() || e.title || e.closest('label')?.textContent.trim();
            return !labelled;
        }).map(e => e.outerHTML)""")
        assert nameless == []
    assert opened.page.locator("[role=status][aria-live=polite]").count() == 1


def test_a_page_without_a_recording_asks_for_one(open_page, small, tmp_path):
    opened = open_page(None, wait=False)
    (tmp_path / "small.utrace").write_bytes(synthetic.packed(small))
    with opened.page.expect_file_chooser() as chooser:
        opened.page.click("button >> text=Open a recording")
    chooser.value.set_files(tmp_path / "small.utrace")
    opened.wait_until_drawn()
    assert "9 nodes" in opened.page.inner_text(".top")


def test_a_second_recording_inside_the_page_is_compared_at_once(open_page, small):
    other = synthetic.small()
    other["nodes"]["outputs"][4] = [["float64", [8, 16]]]
    opened = open_page(small, second=other)
    assert opened.page.get_attribute("#tab-compare", "aria-selected") == "true"
    assert "float64[8,16]" in opened.page.inner_text(".verdict.differs")


def test_a_parameter_without_a_gradient_is_listed(open_page):
    recording = synthetic.transformer(layers=1, values=True)
    recording["params"]["grad"][0] = "none"
    opened = open_page(recording, "#tab=gradients")
    assert "no gradient" in opened.page.inner_text(".bottom")


@pytest.mark.parametrize("width, height", [(1440, 900), (1024, 640), (420, 800)])
def test_nothing_lies_over_the_graph(open_page, transformer, width, height):
    opened = open_page(transformer, viewport={"width": width, "height": height})
    graph = opened.page.locator(".graph canvas").bounding_box()
    assert graph["height"] > height * 0.35
    for part in (".graph-tools", ".legend", ".transport", ".top"):
        box = opened.page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= graph["y"] or box["y"] >= graph["y"] + graph["height"], part


def test_a_narrow_window_has_the_engine_and_the_details_below_the_graph(open_page, small):
    opened = open_page(small, viewport={"width": 420, "height": 800})
    opened.page.keyboard.press("Shift+ArrowRight")
    assert len(opened.listed("running")) == 1
    opened.page.click(".engine .state-running li > button")
    assert opened.page.locator(".node h2").is_visible() and opened.page.locator("#tab-memory").is_visible()
    assert opened.page.evaluate("document.body.scrollWidth") <= 420


def test_a_module_in_the_timeline_leads_to_its_first_node(open_page, transformer):
    opened = open_page(transformer)
    opened.page.keyboard.press("Home")
    area = opened.page.locator(".timeline-canvas").bounding_box()
    opened.page.mouse.click(area["x"] + area["width"] * 0.5, area["y"] + 36)  # the outermost modules, above the nodes
    assert opened.page.inner_text(".node h2") == "layers"
    assert opened.listed("running") != []


def test_nodes_in_a_pass_of_another_thread_are_counted_and_not_listed(open_page):
    recording = synthetic.small()
    events, nodes = recording["events"], recording["nodes"]
    weight = next(n for n, leaf in enumerate(nodes["leaf_s"]) if leaf >= 0 and recording["strings"][leaf] == "weight")
    waits = next(i for i, (kind, node) in enumerate(zip(events["kind"], events["node"])) if kind == KINDS["arrived"] and node == weight)
    assert events["node"][waits + 1] != weight
    for column in recording["passes"].values():
        column.append(column[0])
    events["pass"] = [1 if node == weight else number for node, number in zip(events["node"], events["pass"])]
    opened = open_page(recording, f"#event={waits + 1}")
    assert opened.listed("waiting") == [] and "1 more node in passes of other threads" in opened.page.inner_text(".engine")
    opened.seek(waits)
    assert opened.listed("waiting") == ["weight.grad"]
