"""Parametrizations, weight and spectral norms compared with torch: values, gradients, state-dict keys, copies and errors."""

import copy
import pickle
import warnings

import pytest

import undertow as ut


def symmetric(L):
    class Symmetric(L.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

    return Symmetric()


def module(L, forward, right_inverse=None):
    body = {"forward": lambda self, *x: forward(*x)}
    if right_inverse is not None:
        body["right_inverse"] = lambda self, x: right_inverse(x)
    return type("Made", (L.nn.Module,), body)()


def first_pair(L):
    """A matrix of rank one from two vectors."""

    def back(z):
        u, s, v = L.linalg.svd(z, full_matrices=False)
        return u[:, 0] * s[0].sqrt(), v[0] * s[0].sqrt()

    return module(L, lambda x, y: x.unsqueeze(-1) @ y.unsqueeze(-2), back)


def parametrized(L, *more):
    layer = L.nn.Linear(3, 3)
    for made in (symmetric, *more):
        L.nn.utils.parametrize.register_parametrization(layer, "weight", made(L))
    return layer


def described(layer):
    return [repr(layer), dict(layer.state_dict()), [n for n, _ in layer.named_parameters()], type(layer).__name__]


class Scenarios:
    def a_parametrized_weight_is_computed(L):
        layer = parametrized(L)
        layer(L.ones(2, 3)).sum().backward()
        return [described(layer), layer.weight, layer.parametrizations.weight.original.grad]

    def two_are_applied_in_order(L):
        layer = parametrized(L, lambda L: module(L, lambda x: x * 2, lambda x: x / 2))
        return [described(layer), layer.weight]

    def one_tensor_from_two(L):
        layer = L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 2), "weight", first_pair(L))
        layer(L.ones(1, 3)).sum().backward()
        return [list(layer.state_dict()), layer.weight, sorted(n for n, p in layer.named_parameters() if p.grad is not None)]

    def assigning_goes_through_the_inverse(L):
        layer = L.nn.Linear(2, 2)
        L.nn.utils.parametrize.register_parametrization(layer, "weight", module(L, lambda x: x.exp(), lambda x: x.abs().log()))
        before = layer.weight
        layer.weight = L.full((2, 2), 3.0)
        return [before, layer.weight, layer.parametrizations.weight.original]

    def assigning_without_an_inverse(L):
        parametrized(L).weight = L.ones(3, 3)

    def a_buffer_is_parametrized(L):
        m = L.nn.Module()
        m.register_buffer("scale", L.ones(2))
        L.nn.utils.parametrize.register_parametrization(m, "scale", module(L, lambda x: x * 3))
        return [m.scale, list(m.state_dict()), [n for n, _ in m.named_buffers()]]

    def removing_leaves_the_value(L):
        layer = parametrized(L)
        value = layer.weight
        L.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        return [described(layer), value, isinstance(layer.weight, L.nn.Parameter)]

    def removing_leaves_the_original(L):
        layer = parametrized(L)
        original = layer.parametrizations.weight.original
        L.nn.utils.parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        return [described(layer), layer.weight is original]

    def removing_one_of_two_tensors(L):
        layer = L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 2), "weight", first_pair(L))
        return described(L.nn.utils.parametrize.remove_parametrizations(layer, "weight"))

    def removing_to_a_sequence(L):
        layer = L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 2), "weight", first_pair(L))
        L.nn.utils.parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)

    def removing_a_missing_parametrization(L):
        L.nn.utils.parametrize.remove_parametrizations(L.nn.Linear(2, 2), "weight")

    def querying_what_is_parametrized(L):
        P, layer = L.nn.utils.parametrize, parametrized(L)
        plain = L.nn.Linear(1, 1)
        asked = [P.is_parametrized(layer), P.is_parametrized(layer, "bias"), P.is_parametrized(plain)]
        return [asked, P.type_before_parametrizations(layer).__name__, P.type_before_parametrizations(plain).__name__]

    def cached_values_are_the_same_object(L):
        layer = parametrized(L)
        with L.nn.utils.parametrize.cached():
            inside = layer.weight is layer.weight
        return [inside, layer.weight is layer.weight]

    def copies_are_independent(L):
        layer = parametrized(L)
        other = copy.deepcopy(layer)
        with L.no_grad():
            layer.parametrizations.weight.original.zero_()
        return [described(other), other.weight]

    def pickling_raises(L):
        pickle.dumps(parametrized(L))

    def moving_to_another_module(L):
        layer, other = parametrized(L), L.nn.Linear(3, 3)
        L.nn.utils.parametrize.transfer_parametrizations_and_params(layer, other)
        return [described(other), other.weight]

    def another_shape(L):
        L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 3), "weight", module(L, lambda x: x[:1]))

    def another_shape_later(L):
        parametrized(L, lambda L: module(L, lambda x: x[:1]))

    def another_dtype(L):
        L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 3), "weight", module(L, lambda x: x.double()))

    def another_shape_that_was_allowed(L):
        layer = L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 3), "weight", module(L, lambda x: x[:1]), unsafe=True)
        return layer.weight

    def no_tensor(L):
        L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 3), "weight", module(L, lambda x: 3))

    def no_such_name(L):
        L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 3), "nothing", symmetric(L))

    def an_inverse_of_another_dtype(L):
        L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 3), "weight", module(L, lambda x: x.float(), lambda x: x.double()))

    def an_inverse_that_is_not_a_tensor(L):
        L.nn.utils.parametrize.register_parametrization(L.nn.Linear(3, 3), "weight", module(L, lambda x: x, lambda x: "a"))

    def lengths_and_directions(L):
        layer = L.nn.utils.parametrizations.weight_norm(L.nn.Linear(4, 3))
        layer(L.ones(2, 4)).pow(2).sum().backward()
        return [described(layer), layer.weight, [p.grad for p in layer.parameters()]]

    def one_length_for_all(L):
        return L.nn.utils.parametrizations.weight_norm(L.nn.Linear(4, 3), dim=None).state_dict()

    def lengths_of_columns(L):
        layer = L.nn.utils.parametrizations.weight_norm(L.nn.Linear(4, 3), dim=1)
        return [dict(layer.state_dict()), layer.weight]

    def old_names_are_read(L):
        layer = L.nn.utils.parametrizations.weight_norm(L.nn.Linear(2, 1))
        layer.load_state_dict({"weight_g": L.full((1, 1), 5.0), "weight_v": L.ones(1, 2), "bias": L.zeros(1)})
        return layer.weight

    def the_old_weight_norm(L):
        layer = L.nn.utils.weight_norm(L.nn.Linear(4, 3))
        layer(L.ones(2, 4)).pow(2).sum().backward()
        end = [described(layer), layer.weight, [p.grad for p in layer.parameters()]]
        return [*end, described(L.nn.utils.remove_weight_norm(layer))]

    def the_old_weight_norm_twice(L):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            L.nn.utils.weight_norm(L.nn.utils.weight_norm(L.nn.Linear(2, 2)))

    def no_old_weight_norm(L):
        L.nn.utils.remove_weight_norm(L.nn.Linear(2, 2))

    def spectral_norms(L):
        layer = L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(4, 3), n_power_iterations=2)
        outputs = [layer(L.ones(2, 4)) for _ in range(3)]
        outputs[2].sum().backward()
        layer.eval()
        return [outputs, layer.weight, described(layer), [p.grad for p in layer.parameters()]]

    def a_vectors_spectral_norm(L):
        return L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(4, 3), "bias").bias

    def no_power_iterations(L):
        L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(4, 3), n_power_iterations=0)

    def a_missing_dimension(L):
        L.nn.utils.parametrizations.spectral_norm(L.nn.Linear(4, 3), dim=2)

    def the_old_spectral_norm(L):
        layer = L.nn.utils.spectral_norm(L.nn.Linear(4, 3), n_power_iterations=2)
        outputs = [layer(L.ones(2, 4)) for _ in range(3)]
        outputs[2].sum().backward()
        end = [outputs, described(layer), [p.grad for p in layer.parameters()]]
        return [*end, described(L.nn.utils.remove_spectral_norm(layer))]

    def no_old_spectral_norm(L):
        L.nn.utils.remove_spectral_norm(L.nn.Linear(2, 2))


for _map in ("matrix_exp", "cayley", "householder"):
    for _shape in ((4, 4), (3, 5), (5, 3)):
        for _trivial in (True, False):

            def _scenario(L, map=_map, shape=_shape, trivial=_trivial):
                layer = L.nn.Linear(*shape, dtype=L.float64)
                L.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=map, use_trivialization=trivial)
                first = layer.weight
                (layer(L.ones(2, shape[0], dtype=L.float64)) ** 2).sum().backward()
                return [described(layer), first, [p.grad for p in layer.parameters()]]

            setattr(Scenarios, f"orthogonal_{_map}_{_shape[0]}x{_shape[1]}_{'based' if _trivial else 'plain'}", _scenario)


def _assigned(L):
    layer = L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3, dtype=L.float64))
    layer.weight = L.eye(3, dtype=L.float64).flip(0)
    return layer.weight


Scenarios.an_orthogonal_weight_accepts_an_orthogonal_value = _assigned


def _with_second_inverse(L, right_inverse):
    layer, second = L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3)), L.nn.Identity()
    second.right_inverse = right_inverse
    L.nn.utils.parametrize.register_parametrization(layer, "weight", second)
    return len(layer.parametrizations.weight)


Scenarios.a_second_inverse_of_two_tensors = lambda L: _with_second_inverse(L, lambda x: (x, x))
Scenarios.a_second_inverse_of_another_dtype = lambda L: _with_second_inverse(L, lambda x: x.bool())
Scenarios.a_second_inverse_of_another_shape = lambda L: _with_second_inverse(L, lambda x: x[:1])
Scenarios.a_second_inverse_of_the_same_kind = lambda L: _with_second_inverse(L, lambda x: x)
Scenarios.an_unknown_map = lambda L: L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3), orthogonal_map="q")
Scenarios.an_orthogonal_vector = lambda L: L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3), "bias")
Scenarios.an_orthogonal_missing_tensor = lambda L: L.nn.utils.parametrizations.orthogonal(L.nn.Linear(3, 3), "nothing")


@pytest.mark.parametrize("name", [n for n, f in vars(Scenarios).items() if callable(f)])
def test_a_parametrization_matches_torch(name, same_as_torch):
    same_as_torch(vars(Scenarios)[name], rtol=1e-4)


def test_a_parametrization_that_raises_leaves_the_module_unchanged():
    layer = ut.nn.Linear(3, 3)
    weight = layer.weight
    with pytest.raises(ValueError):
        ut.nn.utils.parametrize.register_parametrization(layer, "weight", module(ut, lambda x: x[:1]))
    assert type(layer) is ut.nn.Linear
    assert layer.weight is weight


def test_an_optimizer_keeps_the_parameter_that_was_parametrized():
    layer = ut.nn.Linear(3, 3)
    weight = layer.weight
    ut.nn.utils.parametrize.register_parametrization(layer, "weight", symmetric(ut))
    assert layer.parametrizations.weight.original is weight


def test_a_second_parametrization_inverts_what_it_makes_of_the_value():
    class Rounded(ut.nn.Module):
        def forward(self, x):
            return x.round()

        def right_inverse(self, x):
            if not ut.equal(x, x.round()):
                raise ValueError("not rounded")
            return x

    class Same(ut.nn.Identity):
        def right_inverse(self, x):
            return x

    layer = ut.nn.Linear(2, 2)
    ut.nn.utils.parametrize.register_parametrization(layer, "weight", Same())
    ut.nn.utils.parametrize.register_parametrization(layer, "weight", Rounded())
    assert ut.equal(layer.weight, layer.weight.round())
    with pytest.raises(ValueError, match="^not rounded$"):
        layer.weight = ut.full((2, 2), 0.5)
    layer.weight = ut.eye(2)
    assert ut.equal(layer.weight, ut.eye(2))
