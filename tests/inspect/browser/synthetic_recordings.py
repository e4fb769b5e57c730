"""Synthetic recordings for tests of the page: graphs built by hand, run by a small engine that writes the events as the real one does.

Nothing here imports undertow, so the page is tested against the format and not against one writer of it.
"""
from __future__ import annotations

import base64
import gzip
import heapq
import json
import math
from pathlib import Path


def table(columns: str) -> dict[str, list]:
    return {name: [] for name in columns.split()}


EVENTS = "pass_started pass_finished ready started tensor_hook retains_grad_hook pre_hook post_hook finished arrived accumulated captured released failed forward"
KINDS = {name: number for number, name in enumerate(table(EVENTS))}
EVENT_COLUMNS = list(table("kind time thread pass node other slot dependencies memory"))
SOURCE = '''import undertow as ut


class Model(nn.Module):
    def forward(self, x):
        """Nothing here runs; it is shown."""
        h = self.first(x)          # a linear layer
        h = ut.tanh(h) * 0.5
        return self.second(h)


loss = model(x).square().mean()
loss.backward()
'''


class Builder:
    """Collects a graph and runs passes over it. Node 0 is made first, as in a forward pass; gradients flow from high numbers to low ones."""

    def __init__(self, program: str = "train.py", forward: bool = False, values: bool = False):
        self.strings: list[str] = []
        self.string_number: dict[str, int] = {}
        self.modules: dict[str, int] = {}
        self.nodes = table("name_s kind sequence operator file line function_s stack module outputs saved leaf_s forward_time forward_thread")
        self.edges = table("from from_slot to to_slot")
        self.out: list[list[tuple[int, int]]] = []
        self.events: list[tuple] = []  # rows of EVENT_COLUMNS
        self.passes = table("number parent depth thread kind_s start end keep_graph create_graph roots captures error_s step")
        self.values = table("event node slot norm min max mean zeros nan inf size histogram")
        self.params = table("name_s node module shape dtype grad")
        self.hooks = table("node kind name_s file line")
        self.module_rows = table("path_s class_s parent")
        self.operators = table("name_s doc_s forward_s grads")
        self.notes: list[dict] = []
        self.meta = {"program": program, "library": "undertow", "library_version": "0.1.0", "created": "2026-01-01T00:00:00Z", "python": "3.11.7",
                     "forward": forward, "values": values, "ranks": None, "truncated": False}
        self.time, self.held, self.storages = 0, 0, 0
        self.norms: dict[int, float | None] = {}  # of the gradients that a node receives, where they are not 1; None: NaN
        self.module("", "Model")

    def string(self, text: str) -> int:
        if text not in self.string_number:
            self.string_number[text] = len(self.strings)
            self.strings.append(text)
        return self.string_number[text]

    def module(self, path: str, kind: str = "Module") -> int:
        """The row of a module, made with its parents."""
        if path not in self.modules:
            parent = self.module(path.rpartition(".")[0]) if path else -1
            self.modules[path] = len(self.modules)
            self.module_rows["path_s"].append(self.string(path))
            self.module_rows["class_s"].append(self.string(kind))
            self.module_rows["parent"].append(parent)
        return self.modules[path]

    def operator(self, name: str, doc: str, forward: str, grads: list[list[str]]) -> int:
        self.operators["name_s"].append(self.string(name))
        self.operators["doc_s"].append(self.string(doc))
        self.operators["forward_s"].append(self.string(forward))
        self.operators["grads"].append(grads)
        return len(self.operators["grads"]) - 1

    def node(self, name: str, inputs=(), *, module: str = "", shape=(8, 16), line: int = 8, kind: int = 0, saved=(), leaf: str = "", operator: int = -1) -> int:
        """A node whose backward sends gradients to `inputs` (node, or (node, slot))."""
        row = len(self.out)
        size = 4 * math.prod(shape)
        stored = []
        for saved_name in saved:
            stored.append([saved_name, "float32", list(shape), size, self.storages])
            self.storages += 1
            self.held += size
        row_values = {
            "name_s": self.string(name), "kind": kind, "sequence": None if kind == 1 else row, "operator": operator, "file": 0, "line": line,
            "function_s": self.string("forward"), "stack": [[0, line, self.string("forward")], [0, 12, self.string("<module>")]], "module": self.module(module),
            "outputs": [["float32", list(shape)]], "saved": stored, "leaf_s": self.string(leaf) if leaf else -1,
            "forward_time": self.time if self.meta["forward"] else None, "forward_thread": 0 if self.meta["forward"] else None}
        for key, value in row_values.items():
            self.nodes[key].append(value)
        self.out.append([])
        for slot, target in enumerate(inputs):
            to, to_slot = target if isinstance(target, tuple) else (target, 0)
            self.out[row].append((to, to_slot))
            for key, value in zip(self.edges, (row, slot, to, to_slot)):
                self.edges[key].append(value)
        if self.meta["forward"] and kind != 1:
            self.event("forward", -1, row)
        return row

    def leaf(self, name: str, module: str = "", shape=(16, 16)) -> int:
        row = self.node("AccumulateGrad", module=module, shape=shape, kind=1, leaf=name)
        for key, value in zip(self.params, (self.string(name), row, self.module(module), list(shape), "float32", "dense")):
            self.params[key].append(value)
        return row

    def event(self, kind: str, the_pass: int, node: int = -1, other: int = -1, slot: int = -1, dependencies: int = -1, thread: int = 0, took: int = 100) -> int:
        self.time += took
        self.events.append((KINDS[kind], self.time, thread, the_pass, node, other, slot, dependencies, self.held))
        return len(self.events) - 1

    def value(self, event: int, node: int, norm: float | None) -> None:
        size = math.prod(self.nodes["outputs"][node][0][1])
        nan = size if norm is None else 0
        row = (event, node, 0, norm, None if nan else -0.1, None if nan else 0.1, None if nan else 0.0, size if norm == 0 else 0, nan, 0, size,
               None if nan else {"edges": [-0.1, -0.05, 0.0, 0.05, 0.1], "counts": [size // 8, size // 2, size // 4, size // 8]})
        for key, value in zip(self.values, row):
            self.values[key].append(value)

    def run(self, root: int, *, parent: int = -1, depth: int = 0, keep_graph: bool = False, threads: int = 1, inside: dict[int, int] | None = None, step: int | None = None,
            fail_at: int = -1) -> int:
        """One backward pass from `root`. `inside[node]`: the root of a pass that this node runs itself. Returns the row of the pass."""
        number = len(self.passes["number"])
        row = (number, parent, depth, 0, self.string("backward"), self.time, self.time, int(keep_graph), 0, [root], [], -1, step)
        for key, value in zip(self.passes, row):
            self.passes[key].append(value)
        waiting: dict[int, int] = {}
        todo, seen = [root], {root}
        while todo:
            for to, _ in self.out[todo.pop()]:
                waiting[to] = waiting.get(to, 0) + 1
                if to not in seen:
                    seen.add(to)
                    todo.append(to)
        self.event("pass_started", number)
        self.event("ready", number, root, other=1, dependencies=0)
        sequence = [math.inf if s is None else s for s in self.nodes["sequence"]]
        queue = [(-sequence[root], root)]
        turn = 0
        while queue:
            node = heapq.heappop(queue)[1]
            thread = turn % threads
            turn += 1
            started = self.event("started", number, node, dependencies=0, thread=thread)
            if self.meta["values"]:
                self.value(started, node, self.norms.get(node, 1.0))
            if inside and node in inside:
                self.run(inside[node], parent=number, depth=depth + 1)
            if node in self.hooks["node"]:
                self.event(f"{self.hooks['kind'][self.hooks['node'].index(node)]}_hook", number, node, other=0, thread=thread)
            if node == fail_at:
                self.passes["error_s"][number] = self.string("RuntimeError: the function returned a gradient of the wrong shape")
                self.event("failed", number, node, thread=thread)
                break
            if self.nodes["kind"][node] == 1:
                self.event("accumulated", number, node, thread=thread)
            self.event("finished", number, node, dependencies=0, thread=thread, took=400 + 137 * (node % 7))
            if not keep_graph and self.nodes["saved"][node]:
                self.held -= sum(entry[3] for entry in self.nodes["saved"][node])
                self.event("released", number, node, thread=thread)
            for to, slot in self.out[node]:
                waiting[to] -= 1
                self.event("arrived", number, to, other=node, slot=slot, dependencies=waiting[to], thread=thread)
                if waiting[to] == 0:
                    heapq.heappush(queue, (-sequence[to], to))
                    self.event("ready", number, to, other=len(queue), dependencies=0, thread=thread)
        self.event("pass_finished", number)
        self.passes["end"][number] = self.time
        return number

    def recording(self) -> dict:
        events = {name: list(column) for name, column in zip(EVENT_COLUMNS, zip(*self.events))}
        threads = sorted(set(events["thread"]))
        return {"format": "undertow-trace", "version": 1, "meta": self.meta, "strings": [*self.strings, *(["main", "worker 1"])], "files": [{"path": "project/train.py", "text": SOURCE}],
                "modules": self.module_rows, "operators": self.operators, "nodes": self.nodes, "edges": self.edges, "passes": self.passes, "events": events,
                "threads": {"number": threads, "name_s": [len(self.strings) + min(t, 1) for t in threads]}, "values": self.values, "params": self.params, "hooks": self.hooks,
                "notes": self.notes, "marks": {}}


def small(**options) -> dict:
    """About ten nodes: one linear layer, a product, a mean; a hook; two uses of one weight."""
    b = Builder(**options)
    mul = b.operator("mul", "Product, element by element.", "self * other", [["self", "grad * other"], ["other", "grad * self"]])
    weight, bias = b.leaf("weight"), b.leaf("bias", shape=(16,))
    turned = b.node("TBackward0", [weight], line=7)
    linear = b.node("AddmmBackward0", [bias, turned], saved=["mat1"], line=7)
    tanh = b.node("TanhBackward0", [linear], saved=["result"])
    scaled = b.node("MulBackward0", [tanh], operator=mul, saved=["other"])
    second = b.node("MulBackward0", [scaled, weight], operator=mul, saved=["self", "other"], line=9)
    square = b.node("PowBackward0", [second], saved=["self"], line=11)
    mean = b.node("MeanBackward0", [square], shape=(), line=11)
    for key, value in zip(b.hooks, (scaled, "post", b.string("print_norm"), 0, 8)):
        b.hooks[key].append(value)
    b.notes.append({"level": "warn", "text": "weight is used twice, so its two gradients are added.", "node": weight})
    b.run(mean)
    return b.recording()


def transformer_step(b: Builder, layers: int, leaves: dict[str, int], width: int = 64) -> int:
    """The forward pass of a small transformer; returns its loss."""
    def leaf(path: str, name: str, shape=(64, 64)) -> int:
        key = f"{path}.{name}"
        if key not in leaves:
            leaves[key] = b.leaf(key, path, shape)
        return leaves[key]

    def linear(path: str, inputs: list, line: int) -> int:
        b.module(path, "Linear")
        turned = b.node("TBackward0", [leaf(path, "weight")], module=path, line=line)
        return b.node("AddmmBackward0", [leaf(path, "bias", (width,)), *inputs, turned], module=path, saved=["mat1", "mat2"], shape=(32, width), line=line)

    def norm(path: str, inputs: list) -> int:
        b.module(path, "LayerNorm")
        return b.node("NativeLayerNormBackward0", [*inputs, leaf(path, "weight", (width,)), leaf(path, "bias", (width,))], module=path, saved=["input", "result1"], shape=(32, width))

    b.module("embed", "Embedding")
    x = b.node("EmbeddingBackward0", [leaf("embed", "weight", (512, width))], module="embed", saved=["indices"], shape=(32, width))
    for i in range(layers):
        block = f"layers.{i}"
        b.module("layers", "ModuleList")
        b.module(block, "Block")
        b.module(f"{block}.attn", "Attention")
        b.module(f"{block}.mlp", "MLP")
        h = norm(f"{block}.ln1", [x])
        q, k, v = (linear(f"{block}.attn.{name}", [h], 7) for name in "qkv")
        turned = b.node("TransposeBackward0", [k], module=f"{block}.attn", shape=(32, width))
        scores = b.node("BmmBackward0", [q, turned], module=f"{block}.attn", saved=["self", "mat2"], shape=(4, 32, 32))
        soft = b.node("SoftmaxBackward0", [scores], module=f"{block}.attn", saved=["result"], shape=(4, 32, 32))
        mixed = b.node("BmmBackward0", [soft, v], module=f"{block}.attn", saved=["self", "mat2"], shape=(32, width))
        out = linear(f"{block}.attn.out", [mixed], 8)
        x = b.node("AddBackward0", [x, out], module=block, shape=(32, width))
        h = norm(f"{block}.ln2", [x])
        h = linear(f"{block}.mlp.up", [h], 8)
        h = b.node("GeluBackward0", [h], module=f"{block}.mlp", saved=["self"], shape=(32, 4 * width))
        h = linear(f"{block}.mlp.down", [h], 8)
        x = b.node("AddBackward0", [x, h], module=block, shape=(32, width))
    x = norm("ln", [x])
    x = linear("head", [x], 9)
    x = b.node("LogSoftmaxBackward0", [x], saved=["result"], shape=(32, 512), line=11)
    return b.node("NllLossBackward0", [x], shape=(), saved=["self", "target"], line=11)


def transformer(layers: int = 12, steps: int = 1, nan_layer: int = -1, threads: int = 1, **options) -> dict:
    """A transformer with nested modules; several training steps over the same leaves; optionally a NaN born in one layer."""
    b = Builder(**{"values": steps > 1 or nan_layer >= 0, **options})
    leaves: dict[str, int] = {}
    for step in range(steps):
        first = len(b.out)
        root = transformer_step(b, layers, leaves)
        for key, row in leaves.items():
            depth = int(key.split(".")[1]) if key.startswith("layers.") else layers
            b.norms[row] = 2.0 ** (depth - layers) * (1 + 0.1 * step) * (1e-6 if key.startswith("layers.0.attn") else 1.0)
        if nan_layer >= 0:
            path = b.string(f"layers.{nan_layer}.attn")
            for row in range(root, first - 1, -1):
                module = b.module_rows["path_s"][b.nodes["module"][row]]
                name = b.strings[b.nodes["name_s"][row]]
                if module == path and name == "SoftmaxBackward0":
                    for below in [row, *(to for to, _ in b.out[row])]:
                        b.norms[below] = None
        b.run(root, threads=threads, step=step if steps > 1 else None)
    return b.recording()


def reentrant() -> dict:
    """A checkpointed block: a custom node that runs a pass of its own."""
    b = Builder()
    weight = b.leaf("weight")
    inner = b.node("TanhBackward0", [b.node("MulBackward0", [weight], saved=["other"])], saved=["result"])
    outer = b.node("SumBackward0", [b.node("CheckpointBackward", [weight], kind=2)], shape=())
    b.run(outer, inside={b.out[outer][0][0]: inner})
    return b.recording()


def failing() -> dict:
    """A pass that ends with an error in a custom Function."""
    b = Builder()
    custom = b.node("MyFunctionBackward", [b.leaf("weight")], kind=2)
    b.run(b.node("SumBackward0", [custom], shape=()), fail_at=custom)
    return b.recording()


def long_chain(nodes: int = 100_000, values: bool = False) -> dict:
    """A loop without modules: one weight, many steps."""
    b = Builder(values=values)
    weight = b.leaf("weight")
    x = b.node("MulBackward0", [weight], saved=["other"])
    while len(b.out) < nodes - 3:
        a = b.node("AddBackward0", [x, weight] if len(b.out) % 1000 < 3 else [x])
        x = b.node("TanhBackward0", [a], saved=["result"])
        if len(b.out) % 9 == 0:
            x = b.node("MulBackward0", [x, a], saved=["self", "other"])
    b.run(b.node("SumBackward0", [x], shape=()))
    return b.recording()


def hostile() -> dict:
    """Strings that would be markup, script or a broken element if a page interpreted them."""
    bad = "<img src=x onerror=\"window.hacked=1\"></script><script>window.hacked=1</script>${window.hacked=1}{{7*7}}\u202e<!--"
    b = Builder(program=bad)
    b.module(f"a.{bad}".replace("..", "."), bad)
    op = b.operator(bad, bad, bad, [[bad, bad]])
    weight = b.leaf(bad)
    x = b.node(bad, [weight], operator=op, saved=[bad])
    for key, value in zip(b.hooks, (x, "post", b.string(bad), 0, 8)):
        b.hooks[key].append(value)
    b.notes.append({"level": "warn", "text": bad, "node": x})
    b.run(b.node("SumBackward0", [x], shape=()))
    out = b.recording()
    out["files"][0] = {"path": bad, "text": "\n" * 6 + bad + "\n" + bad}
    return out


def packed(recording: dict) -> bytes:
    return gzip.compress(json.dumps(recording, separators=(",", ":")).encode(), 1)


def page_with(recording: dict | bytes, page: Path, second: dict | None = None) -> str:
    """The built page with a recording inside, or two, as one file."""
    parts = {"utrace": recording} if second is None else {"utrace": recording, "utrace2": second}
    scripts = []
    for name, part in parts.items():
        data = base64.b64encode(part if isinstance(part, bytes) else packed(part)).decode()
        scripts.append(f'<script type="application/octet-stream" id="{name}">{data}</script>')
    return page.read_text().replace("<!--UTRACE-->", "".join(scripts), 1)
