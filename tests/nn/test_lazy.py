"""Lazy layers, which get their sizes from the first input, compared with torch."""

import pytest

LAYERS = {
    "LazyLinear": (lambda n: n.LazyLinear(3), (2, 5)),
    "LazyLinear without bias": (lambda n: n.LazyLinear(3, bias=False), (4, 2, 5)),
    "LazyBatchNorm1d": (lambda n: n.LazyBatchNorm1d(), (4, 3)),
    "LazyBatchNorm2d": (lambda n: n.LazyBatchNorm2d(affine=False), (4, 3, 2, 2)),
    "LazyBatchNorm3d": (lambda n: n.LazyBatchNorm3d(track_running_stats=False), (4, 3, 2, 2, 2)),
    "LazyInstanceNorm1d": (lambda n: n.LazyInstanceNorm1d(), (4, 3, 5)),
    "LazyInstanceNorm2d": (lambda n: n.LazyInstanceNorm2d(), (3, 2, 2)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_first_input_gives_the_shapes(name, same_as_torch):
    make, shape = LAYERS[name]

    def scenario(L):
        layer = make(L.nn)
        before = [repr(layer), list(layer.state_dict()), layer.has_uninitialized_params()]
        out = layer(L.randn(*shape))
        out.sum().backward()
        return [before, out, repr(layer), dict(layer.state_dict()), type(layer).__name__, len(layer._forward_pre_hooks)]

    same_as_torch(scenario)


@pytest.mark.parametrize("name", LAYERS)
def test_a_state_dict_gives_the_shapes(name, same_as_torch):
    make, shape = LAYERS[name]

    def scenario(L):
        layer, other = make(L.nn), make(L.nn)
        layer(L.randn(*shape))
        answer = other.load_state_dict(layer.state_dict())
        return [repr(answer), other.has_uninitialized_params(), other.eval()(L.ones(*shape)), repr(other)]

    same_as_torch(scenario)


def test_a_lazy_state_dict_loads_into_a_lazy_layer(same_as_torch):
    def scenario(L):
        layer = L.nn.LazyLinear(3)
        return [repr(layer.load_state_dict(L.nn.LazyLinear(3).state_dict())), layer.has_uninitialized_params()]

    same_as_torch(scenario)


def test_an_optimizer_made_before_the_shapes_trains_the_layer(same_as_torch):
    def scenario(L):
        layer = L.nn.Sequential(L.nn.LazyLinear(4), L.nn.Tanh(), L.nn.LazyLinear(1))
        optimizer = L.optim.SGD(layer.parameters(), lr=0.1)
        layer(L.ones(2, 3)).sum().backward()
        optimizer.step()
        return dict(layer.state_dict())

    same_as_torch(scenario)


def test_a_module_that_forgets_a_parameter_raises(same_as_torch):
    def scenario(L):
        class Forgetful(L.nn.modules.lazy.LazyModuleMixin, L.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = L.nn.UninitializedParameter()

            def initialize_parameters(self, x):
                pass

            def forward(self, x):
                return x

        Forgetful()(L.ones(1))

    same_as_torch(scenario)
