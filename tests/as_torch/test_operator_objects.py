"""The objects of `torch.ops.aten`."""

from __future__ import annotations

from tests.as_torch.test_import_hook import run


def test_an_overload_has_torchs_names_and_calls_the_function():
    assert run("""
import torch, copy
from torch._ops import OpOverload, OpOverloadPacket
add = torch.ops.aten.add.Tensor
print(add, repr(add), add.name(), add.__name__, add.__qualname__, add.__module__, add.namespace, add._opname, add._overloadname)
print(add.overloadpacket, repr(torch.ops.aten.add), add._schema.name, add._schema.overload_name, torch.ops.aten.relu.default.name())
print(add is torch.ops.aten.add.Tensor, add.overloadpacket is torch.ops.aten.add, isinstance(add, OpOverload), isinstance(add.overloadpacket, OpOverloadPacket))
print(add(torch.ones(1), 1).item(), {add: 1}[torch.ops.aten.add.Tensor], copy.deepcopy(add) is add, hasattr(torch.ops.aten.add, "_nothing"))
""").splitlines() == [
        "aten.add.Tensor <OpOverload(op='aten.add', overload='Tensor')> aten::add.Tensor add.Tensor aten::add.Tensor torch._ops.aten aten add Tensor",
        "aten.add <OpOverloadPacket(op='aten.add')> aten::add Tensor aten::relu",
        "True True True True",
        "2.0 1 True False",
    ]


def test_operators_that_only_backward_passes_and_tools_call():
    assert run("""
import torch
x = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)
F, one, aten = torch.nn.functional, torch.ones(3, dtype=torch.float64), torch.ops.aten
for f, g in ((F.silu, aten.silu_backward), (F.gelu, aten.gelu_backward), (F.relu, lambda g, x: aten.threshold_backward(g, x, 0))):
    print(torch.allclose(g(one, x), torch.func.grad(lambda x: f(x).sum())(x)), end=" ")
print(aten._to_copy.default(x, dtype=torch.float32).dtype, aten.alias(x).data_ptr() == x.data_ptr(), aten.sym_size(x, 0), aten.sym_numel(x))
print(aten.is_non_overlapping_and_dense(torch.ones(2, 3).t()), aten.is_non_overlapping_and_dense(torch.ones(2, 3)[:, :2]))
print(torch._int_mm(torch.ones(2, 3, dtype=torch.int8), torch.ones(3, 2, dtype=torch.int8)).tolist(), torch._dynamo.OptimizedModule.__name__)
print(torch._utils._rebuild_tensor_v2(torch.arange(4.0).storage(), 1, (2,), (1,), True, None), torch.autograd._is_checkpoint_valid())
""").splitlines() == [
        "True True True torch.float32 True 3 3",
        "True False",
        "[[3, 3], [3, 3]] OptimizedModule",
        "tensor([1., 2.], requires_grad=True) True",
    ]


def test_operators_of_torch_that_are_missing_can_be_named_and_say_so_when_called():
    assert run("""
import torch
aten = torch.ops.aten
table = {aten._sparse_addmm.default: 1, aten._scaled_dot_product_flash_attention.default: 2}
print(table[aten._sparse_addmm.default], aten._sparse_addmm, hasattr(aten, "no_such_operator"))
for f in (aten._sparse_addmm, aten._sparse_addmm.default):
    try:
        f(torch.ones(2), torch.ones(2))
    except NotImplementedError as error:
        print(error)
""").splitlines() == [
        "1 aten._sparse_addmm False",
        "aten._sparse_addmm: this operator of torch is not in Undertow",
        "aten._sparse_addmm: this operator of torch is not in Undertow",
    ]


def test_an_operator_that_takes_functions_runs_the_one_for_the_cpu():
    assert run("""
import torch
from torch._ops import HigherOrderOperator
class Total(HigherOrderOperator):
    def __init__(self):
        super().__init__("total")
    def __call__(self, x):
        return super().__call__(x)
total = Total()
try:
    total(torch.ones(2))
except NotImplementedError as error:
    print(error)
@total.py_impl(torch._C.DispatchKey.AutogradCUDA)
def on_a_gpu(x):
    raise AssertionError("is not called")
@total.py_impl(torch._C.DispatchKey.AutogradCPU)
def on_the_cpu(x):
    return x.sum()
print(total, total.name(), total.namespace, total(torch.ones(2)), torch.func.grad(total)(torch.ones(2)))
try:
    HigherOrderOperator("bare")
except (RuntimeError, TypeError):
    print("has no instances of its own")
""").splitlines() == [
        "total: no function is registered for the CPU",
        "total total higher_order tensor(2.) tensor([1., 1.])",
        "has no instances of its own",
    ]


def test_gradients_of_activations_are_operators_that_vmap_maps():
    assert run("""
import torch
x, g = torch.linspace(-2, 2, 6, dtype=torch.float64).reshape(2, 3), torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3)
for op in (torch.ops.aten.silu_backward, torch.ops.aten.gelu_backward):
    whole = op(g, x)
    print(torch.equal(torch.vmap(op)(g, x), whole), torch.equal(torch.vmap(op, (None, 0))(g[0], x)[0], whole[0]))
    print(torch.equal(torch.vmap(op, (0, None))(g, x[1])[1], whole[1]), torch.vmap(op, (None, 0))(torch.ones(()), torch.ones(4)).shape)
""").split("\n") == ["True True", "True torch.Size([4])"] * 2
