"""`torch.fx` under as_torch: graphs made by hand and by tracing, their code, rewriting, copies."""

from __future__ import annotations

from tests.as_torch.test_import_hook import run

MODEL = """
import copy, operator, pickle, torch
import torch.nn.functional as F
from torch import fx, nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.p = nn.Linear(4, 5), nn.Parameter(torch.ones(4))
        self.seq = nn.Sequential(nn.Linear(5, 2), nn.ReLU())
        self.register_buffer("b", torch.ones(1))
    def forward(self, x, scale=2.0):
        y = F.relu(self.lin(x + self.p).clamp(min=0.0)) * scale + x.shape[0]
        a, b = torch.split(y, 3, dim=-1)
        return {"out": self.seq(y), "parts": [a.sum(), -b]}, torch.cat([a, b], -1) @ y.t() - self.b
torch.manual_seed(0)
model, x = Model(), torch.rand(3, 4)
traced = fx.symbolic_trace(model)
def same(f):
    (d, m), (e, n) = model(x), f(x)
    return torch.equal(d["out"], e["out"]) and all(torch.equal(a, b) for a, b in zip(d["parts"], e["parts"])) and torch.equal(m, n)
"""


def test_the_code_of_a_traced_module_is_torchs():
    assert run(MODEL + "print(traced.code.strip('\\n '))").splitlines() == [
        "def forward(self, x, scale = 2.0):",
        "    p = self.p",
        "    add = x + p;  p = None",
        "    lin = self.lin(add);  add = None",
        "    clamp = lin.clamp(min = 0.0);  lin = None",
        "    relu = torch.nn.functional.relu(clamp);  clamp = None",
        "    mul = relu * scale;  relu = scale = None",
        "    getattr_1 = x.shape;  x = None",
        "    getitem = getattr_1[0];  getattr_1 = None",
        "    add_1 = mul + getitem;  mul = getitem = None",
        "    split = torch.split(add_1, 3, dim = -1)",
        "    getitem_1 = split[0]",
        "    getitem_2 = split[1];  split = None",
        '    seq_0 = getattr(self.seq, "0")(add_1)',
        '    seq_1 = getattr(self.seq, "1")(seq_0);  seq_0 = None',
        "    sum_1 = getitem_1.sum()",
        "    neg = -getitem_2",
        "    cat = torch.cat([getitem_1, getitem_2], -1);  getitem_1 = getitem_2 = None",
        "    t = add_1.t();  add_1 = None",
        "    matmul = cat @ t;  cat = t = None",
        "    b = self.b",
        "    sub = matmul - b;  matmul = b = None",
        "    return ({'out': seq_1, 'parts': [sum_1, neg]}, sub)",
    ]


def test_a_traced_module_and_its_copies_compute_the_same():
    assert run(
        MODEL
        + """
for f in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), fx.Transformer(traced).transform(), fx.Interpreter(traced).run):
    print(same(f), end=" ")
print(isinstance(traced, fx.GraphModule), type(traced).__name__, sorted(traced.state_dict()) == sorted(model.state_dict()))
traced(x)[1].sum().backward()
print(model.lin.weight.grad is not None, nn.Module.__call__.__name__, fx.symbolic_trace(traced).code == traced.code)
"""
    ).splitlines() == ["True True True True True True Model True", "True __call__ True"]


def test_nodes_can_be_inserted_replaced_and_erased():
    assert run(
        MODEL
        + """
graph = traced.graph
for node in graph.nodes:
    if node.op == "call_function" and node.target is F.relu:
        with graph.inserting_after(node):
            new = graph.call_function(torch.tanh, node.args)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
graph.lint()
traced.recompile()
print("tanh" in traced.code, "functional.relu" in traced.code, same(traced), [n.name for n in graph.nodes][:3], len(graph.nodes))
clamp = next(n for n in graph.nodes if n.name == "clamp")
print(clamp.all_input_nodes, list(clamp.users), clamp.prev, clamp.next, clamp.kwargs)
try:
    graph.erase_node(clamp)
except RuntimeError as error:
    print(error)
unused = fx.symbolic_trace(lambda x: (x.relu(), x + 1)[1])
print(len(unused.graph.nodes), unused.graph.eliminate_dead_code(), len(unused.graph.nodes), unused.recompile() is not None, unused(1))
print(graph.find_nodes(op="call_method", target="t"), graph.output_node())
"""
    ).splitlines() == [
        "True False False ['x', 'scale', 'p'] 24",
        "[lin] [tanh] lin tanh {'min': 0.0}",
        "Tried to erase Node clamp but it still had 1 users in the graph: {tanh: None}!",
        "4 True 3 True 2",
        "[t] output",
    ]


def test_graphs_written_by_hand():
    assert run(
        """
import torch
from torch import fx
graph = fx.Graph()
tracer = fx.proxy.GraphAppendingTracer(graph)
x, w = fx.Proxy(graph.placeholder("x"), tracer), fx.Proxy(graph.get_attr("inner.w"), tracer)
torch._assert(x.shape[0] == 2, "two rows")
y = torch.tensordot(torch.einsum("ij,jk->ik", x, w).reshape(-1, 2)[0] + 1.5, x, dims=1)
graph.output(y.node, torch.Tensor)
made = fx.GraphModule({"inner.w": torch.eye(2)}, graph, "Made")
print(made.code.strip("\\n "), made(torch.ones(2, 2)), made.inner.w.shape)
try:
    made(torch.ones(3, 2))
except AssertionError as error:
    print(error)
print(graph)
""",
    ).splitlines() == [
        "def forward(self, x) -> torch.Tensor:",
        "    inner_w = self.inner.w",
        "    getattr_1 = x.shape",
        "    getitem = getattr_1[0];  getattr_1 = None",
        "    eq = getitem == 2;  getitem = None",
        "    _assert = torch._assert(eq, 'two rows');  eq = _assert = None",
        "    einsum = torch.einsum('ij,jk->ik', x, inner_w);  inner_w = None",
        "    reshape = einsum.reshape(-1, 2);  einsum = None",
        "    getitem_1 = reshape[0];  reshape = None",
        "    add = getitem_1 + 1.5;  getitem_1 = None",
        "    tensordot = torch.tensordot(add, x, dims = 1);  add = x = None",
        "    return tensordot tensor([5., 5.]) torch.Size([2, 2])",
        "two rows",
        "graph():",
        "    %x : [num_users=3] = placeholder[target=x]",
        "    %inner_w : [num_users=1] = get_attr[target=inner.w]",
        "    %getattr_1 : [num_users=1] = call_function[target=builtins.getattr](args = (%x, shape), kwargs = {})",
        "    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%getattr_1, 0), kwargs = {})",
        "    %eq : [num_users=1] = call_function[target=operator.eq](args = (%getitem, 2), kwargs = {})",
        "    %_assert : [num_users=0] = call_function[target=torch._assert](args = (%eq, two rows), kwargs = {})",
        "    %einsum : [num_users=1] = call_function[target=torch.einsum](args = (ij,jk->ik, %x, %inner_w), kwargs = {})",
        "    %reshape : [num_users=1] = call_method[target=reshape](args = (%einsum, -1, 2), kwargs = {})",
        "    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%reshape, 0), kwargs = {})",
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%getitem_1, 1.5), kwargs = {})",
        "    %tensordot : [num_users=1] = call_function[target=torch.tensordot](args = (%add, %x), kwargs = {dims: 1})",
        "    return tensordot",
    ]


def test_what_depends_on_a_value_raises_while_it_is_traced():
    assert run(
        """
import math, torch
from torch import fx
for f in (lambda x: x if x.sum() > 0 else -x, lambda x: [i for i in x], lambda x: len(x)):
    try:
        fx.symbolic_trace(f)
    except Exception as error:
        print(type(error).__name__, str(error)[:60])
def g(x, *rest, **more):
    return math.sqrt(x) + rest[0] + more["z"]
print(fx.symbolic_trace(lambda x: math.sqrt(x) + 1)(4.0), fx.symbolic_trace(g)(4.0, 1.0, z=3.0))
print(fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args={"flag": True})(1, True))
class Whole(fx.Tracer):
    def is_leaf_module(self, m, name):
        return False
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
graph = Whole().trace(model)
print([n.name for n in graph.nodes], torch.equal(fx.GraphModule(model, graph)(torch.ones(2)), model(torch.ones(2))))
""",
    ).splitlines() == [
        "TraceError symbolically traced variables cannot be used as inputs to co",
        "TraceError Proxy object cannot be iterated. This can be attempted when ",
        "RuntimeError 'len' is not supported in symbolic tracing by default. If yo",
        "3.0 6.0",
        "2",
        "['input_1', '_0_weight', '_0_bias', 'linear', 'relu', 'output'] True",
    ]
