"""The older names of torch.func, and trees of containers, as programs import them. Run on both libraries by test_idioms.py."""

import dataclasses
import warnings
from collections import OrderedDict, deque, namedtuple

warnings.simplefilter("ignore")

import functorch
import torch
import torch.nn as nn
import torch.utils._pytree as p
from functorch.experimental import replace_all_batch_norm_modules_
from torch._functorch.eager_transforms import _slice_argnums
from torch._functorch.make_functional import functional_init, functional_init_with_buffers


def error(f, *args):
    try:
        return f(*args)
    except Exception as e:  # noqa: BLE001
        return f"{type(e).__name__}: {str(e)[:60]}"


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = self.b = nn.Linear(2, 2)

    def forward(self, x):
        return self.a(self.b(x))


torch.manual_seed(0)
m = nn.Linear(2, 3)
f, params = functorch.make_functional(m)
print(f, type(params), [x.requires_grad for x in params], [a is b for a, b in zip(params, m.parameters(), strict=True)], torch.equal(f(params, torch.ones(2)), m(torch.ones(2))))
f, params, buffers = functorch.make_functional_with_buffers(nn.BatchNorm1d(2))
print(f, len(params), len(buffers), f.param_names, f.buffer_names, f.stateless_model)
f, params, buffers = functorch.combine_state_for_ensemble([m, nn.Linear(2, 3)])
print([x.shape for x in params], [x.requires_grad for x in params], buffers, functorch.vmap(f, (0, 0, None))(params, buffers, torch.ones(2)).shape)
for models in ([], [m, nn.ReLU()], [m, nn.Linear(2, 3).eval()]):
    print(error(functorch.combine_state_for_ensemble, models))
weights, fn, names = functional_init(nn.Linear, (4,))(2, 3)
print([x.shape for x in weights], names, functorch.vmap(fn, (0, None))(weights, (torch.ones(2),)).shape)
made = functional_init_with_buffers(nn.BatchNorm1d, (4,))(2)
print(len(made), [x.shape for x in made[0]], made[1])
f, params = functorch.make_functional(Tied())
print(len(params), f.names_map, f(params, torch.ones(2)).shape)
print([x.requires_grad for x in functorch.make_functional(m, disable_autograd_tracking=True)[1]], error(functorch.make_functional, nn.BatchNorm1d(2)))
print(_slice_argnums((1, 2, 3), 0), _slice_argnums((1, 2, 3), -1, as_tuple=False), _slice_argnums((1, 2, 3), (0, 1)))
print([error(_slice_argnums, (1, 2, 3), a) for a in (5, (), (0, 0), "a")])
print(functorch.grad(lambda x: (x * x).sum())(torch.ones(2)), functorch.jacrev(torch.sin)(torch.zeros(2)), functorch.vjp(torch.exp, torch.zeros(1))[0])
print(replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))[0].track_running_stats)

Point = namedtuple("Point", "a b")
tree = {"a": 1, "b": (2, [3, Point(4, None)])}


class Box:
    def __init__(self, x):
        self.x = x


@dataclasses.dataclass
class Pair:
    a: int
    b: int


p.register_pytree_node(Box, lambda c: ([c.x], None), lambda xs, ctx: Box(*xs))
p.register_dataclass(Pair)
print(p.tree_leaves(tree), list(p.tree_iter(tree)), p.tree_structure(tree) == p.tree_flatten(tree)[1], p.tree_map(lambda x, y: (x, y), [1, 2], [3, 4]))
print(p.tree_map_only(int, lambda x: x + 1, [1, "a", 2.0]), p.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.0]))
print(p.tree_any(lambda x: x == 1, [0, 1]), p.tree_all(lambda x: x == 1, [0, 1]), p.tree_any_only(int, lambda x: x > 3, [1, "a", 5]), p.tree_all_only(int, lambda x: x > 3, [1, 5]))
print(p.tree_flatten_with_path(tree)[0], [p.keystr(k) for k, _ in p.tree_leaves_with_path(tree)], p.tree_map_with_path(lambda k, x: (p.keystr(k), x), [1, {"x": 2}]))
print(p.tree_leaves([Box(3), 1]), p.tree_map(lambda x: x + 1, Box(3)).x, p.tree_leaves(Pair(1, 2)), p.tree_map(lambda x: x + 1, Pair(1, 2)))
print(p.tree_leaves([1, [2, 3]], is_leaf=lambda x: x == [2, 3]), p.tree_map(str, [1, [2]], is_leaf=lambda x: x == [2]))
spec = p.tree_flatten((1, 2))[1]
print(spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf(), spec.type, spec.context, error(p.tree_unflatten, [1], spec)[:10])
print(p.tree_is_leaf(1), p.tree_is_leaf([1]), p.tree_is_leaf(Box(1)), error(p.tree_map, lambda x, y: 0, [1, 2], [1])[:10], error(p.register_pytree_node, Box, None, None)[:10])
print(p.key_get({"a": [1, 2]}, (p.MappingKey("a"), p.SequenceKey(1))), p.arg_tree_leaves(1, [2], x=3), p.tree_flatten(OrderedDict(a=1))[1].type)
print(p.tree_flatten(deque([1], maxlen=3))[1].context, p.is_namedtuple(Point(1, 2)), p.is_namedtuple_class(Point), p.is_structseq(torch.ones(2).max(0)))
