"""Private and old names of torch that published packages import."""

from __future__ import annotations

from tests.as_torch.test_import_hook import run


def test_helpers_of_distributions():
    assert run("""
import torch
from torch.distributions.multivariate_normal import _precision_to_scale_tril, _batch_mv, _batch_mahalanobis
from torch.distributions.lowrank_multivariate_normal import _batch_capacitance_tril, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
torch.manual_seed(0)
W, D, x = torch.randn(4, 2, dtype=torch.float64), torch.rand(4, dtype=torch.float64) + 0.5, torch.randn(4, dtype=torch.float64)
S, c = W @ W.T + torch.diag(D), _batch_capacitance_tril(W, D)
length = x @ torch.linalg.solve(S, x)
print(torch.allclose(_precision_to_scale_tril(torch.linalg.inv(S)), torch.linalg.cholesky(S)), torch.allclose(_batch_mv(S, x), S @ x))
print(torch.allclose(_batch_mahalanobis(torch.linalg.cholesky(S), x), length), torch.allclose(_batch_lowrank_mahalanobis(W, D, x, c), length))
print(torch.allclose(_batch_lowrank_logdet(W, D, c), torch.logdet(S)))
""").split() == ["True"] * 5


def test_switches_and_queries():
    assert run("""
import torch, torch.__future__
torch.__future__.set_swap_module_params_on_conversion(True)
print(torch.__future__.get_swap_module_params_on_conversion(), torch.__future__.get_overwrite_module_params_on_conversion())
print(torch._C._is_tracing(), torch.distributed.rpc.is_available(), torch._dynamo.explain(lambda x: x)(3).graph_break_count)
with torch.autograd._force_original_view_tracking(True):
    pass
print(torch.nn.modules.module._global_forward_hooks_always_called, torch.distributed.ReduceOp.RedOpType.SUM == torch.distributed.ReduceOp.SUM)
overrides = torch.overrides.get_testing_overrides()
print(overrides[torch.exp](1, out=2), torch.jit.ScriptModule)
""").splitlines() == ["True False", "False False 0", "OrderedDict() True", "-1 <class 'torch.jit.ScriptModule'>"]


def test_assert_allclose_ignores_dtypes_and_warns():
    assert run("""
import torch, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    torch.testing.assert_allclose(torch.ones(2), torch.ones(2, dtype=torch.float64) + 5e-5)
    torch.testing.assert_allclose([1.0], [1.0])
    try:
        torch.testing.assert_allclose(torch.ones(2), torch.ones(2) + 1e-3)
    except AssertionError as error:
        print(str(error).split(chr(10))[0])
print({each.category for each in said})
""").splitlines() == ["Tensor-likes are not close!", "{<class 'FutureWarning'>}"]


def test_containers_of_trees():
    assert run("""
import torch, collections
from torch.utils import _pytree as p
pair = collections.namedtuple("pair", "a b")
for name, value in {"tuple": (1, 2), "list": [1, 2], "namedtuple": pair(1, 2), "ordereddict": collections.OrderedDict(a=1), "dict": {"a": 1},
                    "deque": collections.deque([1], 3), "defaultdict": collections.defaultdict(int, a=1)}.items():
    children, context = getattr(p, f"_{name}_flatten")(value)
    again = getattr(p, f"_{name}_unflatten")(children, context)
    with_keys, _ = getattr(p, f"_{name}_flatten_with_keys")(value)
    assert again == value and type(again) is type(value) and [child for _, child in with_keys] == list(children), name
print(p._is_leaf(3), p._broadcast_to_and_flatten(0, p.tree_structure((1, 2))))
""") == "True [0, 0]"


def test_embedding_bag_forward_only():
    assert run("""
import torch
w = torch.arange(6.0).view(3, 2).requires_grad_()
out, bags, sizes, _ = torch._embedding_bag_forward_only(w, torch.tensor([0, 1, 2]), torch.tensor([0, 2]))
print(out.tolist(), out.requires_grad, bags.tolist(), sizes.tolist())
""") == "[[2.0, 4.0], [4.0, 5.0]] False [0, 0, 1] [2, 1]"


def test_collectives_with_derivatives_need_a_group():
    assert run("""
import torch, torch.distributed as dist, torch.distributed.nn
x = torch.ones(2, requires_grad=True)
try:
    dist.nn.all_reduce(x)
except (RuntimeError, ValueError) as error:
    print("raises")
dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
(dist.nn.all_reduce(x) * 3 + torch.stack(dist.nn.all_gather(x)).sum(0)).sum().backward()
print(x.grad.tolist())
""").splitlines() == ["raises", "[4.0, 4.0]"]


def test_dtypes_without_tensors_have_distinct_names_in_tests(tmp_path):
    (tmp_path / "test_names.py").write_text("""
import torch
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase

class TestNames(TestCase):
    @dtypes(torch.float32, torch.quint8, torch.qint8, torch.float8_e8m0fnu, torch.bits8, torch.complex32)
    def test_it(self, device, dtype):
        pass

instantiate_device_type_tests(TestNames, globals(), only_for="cpu")
print(sorted(name for name in dir(TestNamesCPU) if name.startswith("test_it")))
""")
    said = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import test_names")
    assert said.splitlines()[-1] == str([f"test_it_cpu_{name}" for name in ("bits8", "complex32", "float32", "float8_e8m0fnu", "qint8", "quint8")])


def test_collation_functions_and_their_map():
    assert run("""
import numpy as np, torch
from torch.utils.data import default_collate
from torch.utils.data._utils.collate import collate, default_collate_fn_map, collate_tensor_fn, collate_numpy_array_fn
print(list(default_collate_fn_map)[1:4] == [np.ndarray, (np.bool_, np.number, np.object_), float], default_collate_fn_map[torch.Tensor] is collate_tensor_fn)
class Point:
    x = 1.0
default_collate_fn_map.setdefault(Point, lambda batch, *, collate_fn_map=None: torch.tensor([p.x for p in batch]))
print(default_collate([(Point(), 1), (Point(), 2)]), [x.dtype for x in torch.utils.data.DataLoader([Point()] * 2, batch_size=2)])
print(collate([np.ones(1)] * 2, collate_fn_map={np.ndarray: collate_numpy_array_fn, torch.Tensor: collate_tensor_fn}).shape)
""").splitlines() == ["True True", "[tensor([1., 1.]), tensor([1, 2])] [torch.float32]", "torch.Size([2, 1])"]


def test_classes_of_constraints_and_annotations_of_load():
    assert run("""
import torch
from torch.distributions import constraints as c
from torch.serialization import FILE_LIKE, MAP_LOCATION, STORAGE
def load(f: FILE_LIKE, where: MAP_LOCATION = None) -> STORAGE: ...
print(isinstance(c.corr_cholesky, c._CorrCholesky), issubclass(c._PositiveDefinite, c._Symmetric), issubclass(c._PositiveSemidefinite, c._Square))
print(isinstance(c.one_hot, c._OneHot), c._IntegerLessThan(2).check(torch.tensor([1., 2., 2.5, 3.])).tolist(), c._IntegerLessThan(2))
print(torch.distributed.autograd.is_available())
""").splitlines() == ["True True True", "True [True, True, False, False] IntegerLessThan(upper_bound=2)", "False"]


def test_vmap_calls_the_steps_that_a_program_replaces():
    assert run("""
import torch
import torch._functorch.vmap as source
from torch._functorch.vmap import _add_batch_dim, _remove_batch_dim, _process_batched_inputs, _create_batched_inputs, _unwrap_batched
from torch._C._functorch import get_unwrapped, is_batchedtensor, maybe_get_bdim, maybe_get_level

class Box:
    def __init__(self, x):
        self.x = x
    def size(self, dim):
        return self.x.size(dim)
    def tensor_split(self, at, dim):
        return [Box(x) for x in self.x.tensor_split(at, dim)]

def process(in_dims, args, func):
    return (args[0].size(0), [0], list(args), None) if isinstance(args[0], Box) else _process_batched_inputs(in_dims, args, func)
def create(dims, leaves, level, spec):
    return [Box(_add_batch_dim(leaves[0].x, 0, level))] if isinstance(leaves[0], Box) else _create_batched_inputs(dims, leaves, level, spec)
def unwrap(outputs, out_dims, level, size, func):
    return _remove_batch_dim(outputs.x, level, size, 1) if isinstance(outputs, Box) else _unwrap_batched(outputs, out_dims, level, size, func)
source._process_batched_inputs, source._create_batched_inputs, source._unwrap_batched = process, create, unwrap

def double(box):
    print(is_batchedtensor(box.x), box.x.shape, get_unwrapped(box.x).shape, maybe_get_bdim(box.x))
    return Box(box.x * 2)
print(torch.vmap(double)(Box(torch.ones(3, 2))).shape)
print(torch.vmap(torch.sum)(torch.ones(3, 2)), torch.vmap(torch.sum, chunk_size=2)(torch.ones(3, 2)))
print(torch.vmap(lambda box: box.x + 1, chunk_size=2)(Box(torch.zeros(3))))
x = torch.ones(1)
print(is_batchedtensor(x), maybe_get_bdim(x), maybe_get_level(x), torch._C._functorch.is_gradtrackingtensor(x))
try:
    get_unwrapped(x)
except RuntimeError as error:
    print(error)
""").splitlines() == [
        "True torch.Size([2]) torch.Size([3, 2]) 0",
        "torch.Size([2, 3])",
        "tensor([2., 2., 2.]) tensor([2., 2., 2.])",
        "tensor([1., 1., 1.])",
        "False -1 -1 False",
        "No wrappers present!",
    ]


def test_whether_a_mode_sees_functions():
    assert run("""
import torch
from torch.overrides import TorchFunctionMode
class Sees(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
asked = torch._C._is_torch_function_mode_enabled
print(asked())
with Sees():
    print(asked())
    with torch._C.DisableTorchFunctionSubclass():
        print(asked())
    with torch._C.DisableTorchFunction():
        print(asked())
print(asked())
""").split() == ["False", "True", "True", "False", "False"]


def test_queries_of_tracers_and_aliases():
    assert run("""
import torch
from torch._guards import TracingContext, active_fake_mode, detect_fake_mode
print(torch._guards.active_fake_mode(), detect_fake_mode([torch.ones(1)]), TracingContext.try_get())
x = torch.ones(3)
print(torch._C._is_alias_of(x, x[1:]), torch._C._is_alias_of(x, x.detach()), torch._C._is_alias_of(x, torch.ones(3)))
found = []
torch.vmap(lambda a: found.extend((torch._C._is_alias_of(a, a), torch._C._is_alias_of(a, a[:]), torch._C._is_alias_of(a, x))) or a)(torch.ones(2, 2))
print(found, torch._C._is_alias_of(torch.eye(2).to_sparse(), x))
some = torch.tensor([[1.0, 2.0], [1.0, -1.0]]) > 0
print(torch._is_all_true(some), torch._is_any_true(some), torch.vmap(torch._is_all_true)(some), torch.vmap(torch._is_any_true)(~some))
""").splitlines() == ["None None None", "True True False", "[True, False, False] False", "tensor(False) tensor(True) tensor([False, False]) tensor([True, True])"]


def test_nodes_made_by_hand_and_saved_tensors_of_the_core():
    assert run("""
import torch
from torch.autograd.graph import Node
x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
failing = torch._C._functions.DelayedError("stop here", 1)(y)
print(torch.autograd.grad((x * failing).sum(), x)[0].tolist(), issubclass(torch._C._functions.DelayedError, Node))
try:
    (x * failing).sum().backward()
except RuntimeError as error:
    print(error)
x.grad = None
torch._C._functions.UndefinedGrad()(x * 2).sum().backward()
print(x.grad)
saved = torch._C._autograd._make_saved_tensor(y, is_output=False)
print(saved.unpack() is y, saved.data is y, saved.unpack_hook, isinstance(saved, torch._C._autograd.SavedTensor), torch._C._autograd._saved_tensors_hooks_is_enabled())
try:
    torch.autograd.SavedTensor()
except RuntimeError as error:
    print(error)
ref = torch._C._WeakTensorRef(y)
print(ref.expired())
del y, saved, failing
print(ref.expired())
""").splitlines() == [
        "[1.0, 1.0] True", "stop here", "None", "True True None True True", "Trying to create a SavedTensor object from Python is forbidden.", "False", "True",
    ]  # fmt: skip


def test_the_running_pass_can_be_asked():
    assert run("""
import torch
x = torch.ones((), requires_grad=True)
y = x.sin().exp()
seen = []
def hook(grad):
    seen.append(", ".join(node.name().rpartition("::")[2] for node in torch._C._current_graph_task_execution_order()))
    seen.append(torch._C._autograd._get_current_graph_task_keep_graph())
y.register_hook(hook)
with torch.autograd.set_multithreading_enabled(False):
    y.backward(retain_graph=True)
    torch.autograd.grad([y, y * 2], x)
print(seen)
try:
    torch._C._current_graph_task_execution_order()
except RuntimeError as error:
    print(error)
""").splitlines() == [
        str(["ExpBackward0, SinBackward0, AccumulateGrad", True, "MulBackward0, ExpBackward0, SinBackward0, AccumulateGrad", False]),
        "_current_graph_task_execution_order should only be called during the backward pass",
    ]


def test_smaller_names_of_autograd():
    assert run("""
import warnings
import torch, torch.autograd._functions, torch.autograd.forward_ad as fwAD
from torch.autograd import _calculate_shape
from torch.autograd.gradcheck import get_analytical_jacobian
from torch.autograd.profiler_util import _format_time
x = torch.arange(4.0, dtype=torch.float64, requires_grad=True)
print(tuple(torch.autograd._functions.Resize.apply(x, (2, 2)).shape), torch.autograd.torch is torch, _format_time(2500.0))
print([tuple(s) for s in _calculate_shape(x, torch.ones(3, 4), True)], torch.profiler.itt.is_available())
torch._C._set_fwd_grad_enabled(False)
with fwAD._set_fwd_grad_enabled(True):
    print(fwAD._is_fwd_grad_enabled())
print(fwAD._is_fwd_grad_enabled())
torch._C._set_fwd_grad_enabled(True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    (jacobian,), same, sizes, types = get_analytical_jacobian((x,), x * x)
print(jacobian.diagonal().tolist(), same, sizes, types)
print([t.numel() for t in torch._VF.unique_dim(torch.tensor([1, 1, 2]), 0, True, False, True)])
print(torch._vmap_internals._vmap(lambda t: t * 2)(torch.ones(3)).tolist())
print(torch.ops.aten._new_zeros_with_same_feature_meta(torch.ones(3, 5), torch.ones(4)[1:3], self_num_batch_dims=1).stride())
torch._C._set_cached_tensors_enabled(True)
torch._C._add_cached_tensor(x)
print(torch._C._is_cached_tensor(x))
torch._C._remove_cached_tensor(x)
torch._C._stash_obj_in_tls("key", 5)
print(torch._C._is_cached_tensor(x), torch._C._is_key_in_tls("key"), torch._C._get_obj_in_tls("key"))
""").splitlines() == [
        "(2, 2) True 2.500ms", "[(4,), (4,)] False", "True", "False", "[0.0, 2.0, 4.0, 6.0] True True True", "[2, 0, 2]", "[2.0, 2.0, 2.0]", "(4, 1)", "True",
        "False True 5",
    ]  # fmt: skip


def test_names_that_torchs_tests_use_in_set_ups():
    assert run("""
import torch, functorch.experimental
from torch._C._functorch import _vmap_decrement_nesting, _vmap_increment_nesting, get_dynamic_layer_stack_depth, reshape_dim_into, reshape_dim_outof
from torch._functorch.vmap import restore_vmap
from torch._utils import ExceptionWrapper
from torch._utils_internal import get_file_path_2, get_writable_path
torch._C._debug_only_display_vmap_fallback_warnings(True)
print(torch._C._debug_only_are_vmap_fallback_warnings_enabled(), torch._C._is_torch_function_enabled(), torch._C._is_view_replay_enabled())
print(tuple(reshape_dim_into(0, 1, torch.ones(2, 3, 5)).shape), tuple(reshape_dim_outof(0, 2, torch.ones(6, 3)).shape))
print(restore_vmap(lambda x, y: (x + y, y), (1, None), 3, "error")(torch.ones(2, 3), torch.ones(2))[1])
print(functorch.experimental.chunk_vmap(torch.sum, chunks=2)(torch.ones(3, 2)).tolist())
_vmap_increment_nesting(2, "error"), print(get_dynamic_layer_stack_depth()), _vmap_decrement_nesting(), print(get_dynamic_layer_stack_depth())
print(torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL, torch.utils.data._utils.collate.default_collate([1, 2]).tolist())
try:
    {}["k"]
except KeyError:
    wrapped = ExceptionWrapper(where="in a worker")
try:
    wrapped.reraise()
except KeyError as error:
    print(str(error).splitlines()[0])
print(get_file_path_2("a", "b"), get_writable_path("."), torch._C._linalg.linalg_det(torch.eye(2)).item())
a, b = torch.ones(1), torch.ones(1, dtype=torch.double)
print([len(group[0][0]) for group in torch._C._group_tensors_by_device_and_dtype([[a, b, a], [a, b, a]]).values()])
""").splitlines() == [
        "True True False", "(3, 10) (2, 3, 3)", "(0, None)", "[2.0, 2.0, 2.0]", "1", "0", "5.0 [1, 2]",
        "Caught KeyError in a worker.", "a/b . 1.0", "[2, 1]",
    ]  # fmt: skip


def test_functions_that_torch_removed_raise_its_error():
    assert run("""
import torch
for name in ("symeig", "eig", "lstsq", "solve", "matrix_rank"):
    try:
        getattr(torch, name)(torch.eye(2))
    except RuntimeError as error:
        print(str(error)[:73])
""").splitlines() == ["This function was deprecated since version 1.9 and is now removed. Please"] * 5


def test_names_of_serialization():
    assert run("""
import numpy, torch
from torch.serialization import LoadEndianness, SourceChangeWarning, check_module_version_greater_or_equal
from torch.serialization import get_default_load_endianness, set_default_load_endianness
set_default_load_endianness(LoadEndianness.BIG), print(get_default_load_endianness())
set_default_load_endianness(None), print(get_default_load_endianness(), issubclass(SourceChangeWarning, Warning))
print(check_module_version_greater_or_equal(numpy, (1, 0)), check_module_version_greater_or_equal(numpy, (99, 0)))
""").splitlines() == ["LoadEndianness.BIG", "None True", "True False"]


def test_guards_of_the_dispatcher_begin_when_they_are_made():
    assert run("""
import torch
x = torch.ones(1, requires_grad=True)
guard = torch._C._AutoDispatchBelowAutograd()
print((x * 2).requires_grad)
del guard
print((x * 2).requires_grad)
with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)), torch.autocast("cpu"):
    print(torch.is_autocast_enabled("cpu"))
with torch.autocast("cpu"), torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)):
    print(torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype)
print(torch.Tag.out)
""").splitlines() == ["False", "True", "True", "torch.float32", "Tag.out"]
