"""Less common names that programs import from torch: trees, custom operators, hub, versions, helpers of layers and loaders."""

import hashlib
import os
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from pathlib import Path

import pytest
from torch_public_names import stored

import undertow as ut
from undertow.as_torch.shims.torch_version import TorchVersion
from undertow.utils import _pytree

try:
    import torch
    from torch.utils import _pytree as torch_pytree
except ImportError:
    torch = torch_pytree = None

Point = namedtuple("Point", "x y")
TREES = [
    3,
    None,
    [1, (2, 3), {"a": 4}],
    pytest.param(OrderedDict(a=1, b=[2]), id="OrderedDict"),  # its text depends on the version of Python
    Point(1, (2, None)),
    deque([1, [2]], maxlen=5),
    defaultdict(list, {"k": [1, 2]}),
    (),
    [[], {}],
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_trees_are_flattened_as_in_torch(tree, same_as_torch):
    def seen(L):
        lib = _pytree if L is ut else torch_pytree
        leaves, spec = lib.tree_flatten(tree)
        paths = [(lib.keystr(path), leaf) for path, leaf in lib.tree_leaves_with_path(tree)]
        again = lib.tree_unflatten(leaves, spec)
        numbers = spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf()
        doubled = lib.tree_map(lambda a, b: (a, b), tree, tree)
        only = lib.tree_map_only(int, lambda n: n + 1, tree)
        lists = lib.tree_leaves(tree, is_leaf=lambda x: isinstance(x, list))
        return leaves, paths, again, type(again), numbers, doubled, only, lists, lib.tree_all(bool, tree), lib.tree_any_only(int, lambda n: n > 3, tree)

    same_as_torch(seen)


def test_trees_of_different_structure_raise():
    for lib in filter(None, (_pytree, torch_pytree)):
        for other in ([1], (1, 2), {"a": 1, "b": 2}):
            with pytest.raises(ValueError):
                lib.tree_map(lambda a, b: a, [1, 2], other)
        with pytest.raises(ValueError):
            lib.tree_map(lambda a, b: a, {"a": 1}, {"b": 1})
        assert lib.tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, {"b": 10, "a": 20}) == {"a": 21, "b": 12}


def test_a_registered_class_is_a_container():
    class Box:
        def __init__(self, inside, label):
            self.inside, self.label = inside, label

    @dataclass
    class Pair:
        a: int
        b: int

    for lib in filter(None, (_pytree, torch_pytree)):
        lib.register_pytree_node(Box, lambda b: ([b.inside], b.label), lambda children, label: Box(*children, label))
        made = lib.tree_map(lambda x: x * 2, Box([1, 2], "L"))
        assert (made.inside, made.label) == ([2, 4], "L")
        with pytest.raises(ValueError, match="already registered"):
            lib.register_pytree_node(Box, None, None)
        lib.register_dataclass(Pair)
        assert lib.tree_map(lambda x: x + 1, Pair(1, 2)) == Pair(2, 3)


@pytest.mark.parametrize("lib", [ut, torch] if torch else [ut], ids=["undertow", "torch"][: 1 + bool(torch)])
def test_a_custom_operator_has_a_name_a_derivative_and_kernels(lib):
    name = f"tests_{lib.__name__}::scaled"

    @lib.library.custom_op(name, mutates_args=())
    def scaled(x: lib.Tensor, by: float = 2.0) -> lib.Tensor:
        return x.detach() * by

    @scaled.register_fake
    def _(x, by=2.0):
        return lib.empty_like(x)

    def setup_context(ctx, inputs, output):
        ctx.by = inputs[1]

    scaled.register_autograd(lambda ctx, g: (g * ctx.by, None), setup_context=setup_context)
    x = lib.ones(3, requires_grad=True)
    y = scaled(x, by=3.0)
    y.sum().backward()
    assert y.tolist() == [3.0] * 3 and x.grad.tolist() == [3.0] * 3 and y.requires_grad
    assert not scaled(lib.ones(1)).requires_grad
    assert getattr(lib.ops, f"tests_{lib.__name__}").scaled(lib.ones(1)).tolist() == [2.0]

    @scaled.register_kernel("cpu")
    def _(x, by=2.0):
        return x.detach() * by + 1

    assert scaled(lib.ones(1)).tolist() == [3.0]


@pytest.mark.parametrize("lib", [ut, torch] if torch else [ut], ids=["undertow", "torch"][: 1 + bool(torch)])
def test_a_custom_operator_may_write_into_its_argument(lib):
    @lib.library.custom_op(f"tests_{lib.__name__}::fill", mutates_args={"x"})
    def fill(x: lib.Tensor, value: float) -> None:
        x.fill_(value)

    x = lib.zeros(2)
    assert fill(x, 4.0) is None and x.tolist() == [4.0, 4.0]


def test_a_custom_operator_without_a_derivative_raises_in_backward():
    @ut.library.custom_op("tests::plain", mutates_args=())
    def plain(x: ut.Tensor) -> ut.Tensor:
        return x.detach().clone()

    with pytest.raises(RuntimeError, match="tests::plain"):
        plain(ut.ones(2, requires_grad=True)).sum().backward()
    with pytest.raises(ValueError, match="namespace::name"):
        ut.library.custom_op("plain", mutates_args=())
    with pytest.raises(AttributeError, match="tests::other"):
        ut.ops.tests.other  # noqa: B018


def test_weights_are_downloaded_once_and_completely(tmp_path):
    source = tmp_path / "net.pt"
    ut.save({"weight": ut.ones(2)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    named = tmp_path / f"net-{digest}.pt"
    named.write_bytes(source.read_bytes())
    cache = tmp_path / "cache"
    state = ut.hub.load_state_dict_from_url(named.as_uri(), model_dir=str(cache), progress=False, check_hash=True)
    assert state["weight"].tolist() == [1.0, 1.0]
    named.unlink()
    from undertow.as_torch.shims.utils.model_zoo import load_url

    again = load_url(named.as_uri(), model_dir=str(cache), progress=False)
    assert again["weight"].tolist() == [1.0, 1.0]
    wrong = tmp_path / "net-00000000.pt"
    wrong.write_bytes(b"other")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        ut.hub.load_state_dict_from_url(wrong.as_uri(), model_dir=str(cache), progress=False, check_hash=True)
    assert sorted(os.listdir(cache)) == [f"net-{digest}.pt"]


def test_code_is_loaded_from_a_local_folder_and_never_downloaded(tmp_path):
    (tmp_path / "hubconf.py").write_text("def small(n=2):\n    'A list.'\n    return [0] * n\n")
    assert ut.hub.load(str(tmp_path), "small", source="local", n=3) == [0, 0, 0]
    assert ut.hub.list(str(tmp_path)) == ["small"] and ut.hub.help(str(tmp_path), "small") == "A list."
    with pytest.raises(RuntimeError, match="downloads only weights"):
        ut.hub.load("pytorch/vision", "resnet18")
    with pytest.raises(RuntimeError, match="Cannot find callable large"):
        ut.hub.load(str(tmp_path), "large", source="local")


@pytest.mark.parametrize("other", ["2.0", "1.13.1", "2.13", "2.13.0", "3", (2, 0), (2, 13), (3,), "2.9.1"])
def test_versions_compare_as_in_torch(other):
    def compared(make):
        v = make("2.13.0+x")
        return v > other, v >= other, v < other, v <= other

    ours = compared(TorchVersion)
    numbers = tuple(map(int, other.split("."))) if isinstance(other, str) else other
    above, below = numbers < (2, 13, 0), numbers > (2, 13, 0)
    assert (ours[0], ours[2]) == (above, below) or other in ("2.13", "2.13.0", (2, 13))  # "+x" makes it a little more than that
    if torch:
        theirs = compared(torch.torch_version.TorchVersion)
        assert ours[0] == theirs[0] and ours[2] == theirs[2] or other in ("2.13", "2.13.0", (2, 13))
    assert TorchVersion("2.13.0") == "2.13.0" and hash(TorchVersion("1")) == hash("1")


def test_helpers_of_layers_and_loaders_match_torch():
    from undertow.nn.modules import utils as ours

    for name, n in (("_single", 1), ("_pair", 2), ("_triple", 3), ("_quadruple", 4)):
        assert getattr(ours, name)(3) == (3,) * n and getattr(ours, name)([1, 2]) == (1, 2)
    assert ours._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert ours._list_with_default([None, 3], [7, 8, 9]) == [8, 3]
    state = ut.nn.DataParallel(ut.nn.Linear(2, 2)).state_dict()
    ours.consume_prefix_in_state_dict_if_present(state, "module.")
    assert (list(state), sorted(state._metadata)) == (["weight", "bias"], [""])
    from undertow.as_torch.shims.utils.data._utils.collate import default_collate

    assert default_collate is ut.utils.data.default_collate


def test_result_types_have_torchs_names():
    for name in dir(ut.return_types):
        assert getattr(ut.return_types, name).__name__ == name and name in stored()["torch.return_types"]
    assert isinstance(ut.ones(2, 2).max(1), ut.return_types.max) and not isinstance(ut.ones(2, 2).min(1), ut.return_types.max)


def test_low_rank_decompositions_match_torch(same_as_torch):
    def scenario(lib):
        A = lib.randn(9, 3, dtype=lib.float64) @ lib.randn(3, 6, dtype=lib.float64)
        U, S, V = lib.svd_lowrank(A, q=3)
        assert lib.allclose(U * S @ V.mT, A)
        U2, S2, V2 = lib.pca_lowrank(A.mT, q=3)
        return S, S2, V2.abs(), lib.rand(())

    same_as_torch(scenario, rtol=1e-6)
    for q in (-1, 10):
        with pytest.raises(ValueError, match="must be non-negative integer and not greater"):
            ut.pca_lowrank(ut.ones(3, 4), q=q)


PROGRAM = """
import torch, warnings
import torch._dynamo
torch._dynamo.config.suppress_errors = True
torch._inductor.config.coordinate_descent_tuning = True
warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
assert torch.__version__ >= (2, 0) and torch.__version__ >= "1.9" and torch.__version__.startswith("2.13")
assert torch.__config__.show() and torch.__config__.parallel_info()
assert not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)
class Old(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(1, 1)
    @torch.jit.script_method
    def forward(self, x):
        return self.fc(x)
assert Old()(torch.ones(1)).shape == (1,)
with torch.autocast("cpu"):
    assert torch.is_autocast_cpu_enabled() and torch.get_autocast_cpu_dtype() is torch.bfloat16
torch.clear_autocast_cache()
assert torch.compile(model=None, backend="inductor")(abs) is abs
from torch.hub import load_state_dict_from_url
from torch.utils.model_zoo import load_url
from torch.nn.modules.utils import _pair
print("done")
"""


def test_a_program_that_sets_compiler_options_runs():
    environment = {**os.environ, "PYTHONPATH": str(Path(ut.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "undertow.as_torch", "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
