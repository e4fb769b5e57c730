"""An error about a wrong shape names the layer, its path in the model, the shape it got and the shapes of its parameters."""

import pytest

import undertow as ut
from undertow import nn


def message_of(call, kind=RuntimeError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_a_linear_layer_is_named_with_both_shapes():
    text = message_of(lambda: nn.Linear(4, 8)(ut.ones(2, 5)))
    assert text.startswith("mat1 and mat2 shapes cannot be multiplied (2x5 and 4x8)")
    assert "in Linear(in_features=4, out_features=8, bias=True), given (2, 5); its weight (8, 4), bias (8,)" in text


def test_the_layers_path_in_the_model_is_named():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.ReLU(), nn.ModuleDict({"last": nn.Linear(4, 8)})["last"])

        def forward(self, x):
            return self.body(x)

    assert "; in body.1: Linear(in_features=4" in message_of(lambda: Net()(ut.ones(2, 5)))


def test_an_error_under_hooks_names_the_layer_too():
    layer = nn.Linear(4, 8)
    layer.register_forward_hook(lambda *a: None)
    assert "in Linear(in_features=4" in message_of(lambda: layer(ut.ones(2, 5)))


def test_a_loss_names_the_shapes_it_compares():
    text = message_of(lambda: nn.CrossEntropyLoss()(ut.ones(4, 3), ut.zeros(5, dtype=ut.int64)), (ValueError, RuntimeError))
    assert "in CrossEntropyLoss(), given (4, 3) and (5,)" in text


def test_an_index_out_of_range_names_the_embedding():
    text = message_of(lambda: nn.Embedding(5, 2)(ut.tensor([7])), IndexError)
    assert text.startswith("index out of range in self")
    assert "in Embedding(5, 2), given (1,); its weight (5, 2)" in text


def test_a_keyword_argument_is_named():
    assert "given input=(2, 5)" in message_of(lambda: nn.Linear(4, 8)(input=ut.ones(2, 5)))


def test_errors_of_user_modules_are_unchanged():
    class Mine(nn.Module):
        def forward(self, x):
            raise ValueError("mine")

    assert message_of(lambda: nn.Sequential(Mine())(ut.ones(2)), ValueError) == "mine"


def test_errors_without_tensors_and_of_other_kinds_are_unchanged():
    assert message_of(lambda: nn.Linear(4, 8)(), TypeError).startswith("Linear.forward() missing 1 required positional argument")
    assert message_of(lambda: nn.Module()(ut.ones(1)), NotImplementedError).endswith('missing the required "forward" function')


def test_the_same_layer_fails_twice_with_the_same_error():
    layer = nn.Linear(4, 8)
    assert message_of(lambda: layer(ut.ones(2, 5))) == message_of(lambda: layer(ut.ones(2, 5)))


def test_loading_lists_every_missing_and_unexpected_key_and_every_wrong_size():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4), nn.Linear(4, 5))
    state = {"0.weight": ut.ones(9, 9), "0.bias": ut.ones(3), "1.bias": ut.ones(7), "3.weight": ut.ones(1), "extra": ut.ones(1)}
    text = message_of(lambda: net.load_state_dict(state))
    assert 'Missing key(s) in state_dict: "1.weight", "2.weight", "2.bias"' in text
    assert 'Unexpected key(s) in state_dict: "3.weight", "extra"' in text
    assert "size mismatch for 0.weight" in text
    assert "size mismatch for 1.bias" in text


def test_errors_of_hooks_are_unchanged():
    layer = ut.nn.Identity()

    def hook(module, args, output):
        raise RuntimeError("mine")

    layer.register_forward_hook(hook)
    with pytest.raises(RuntimeError, match="^mine$"):
        layer(ut.ones(1))


@pytest.mark.parametrize(("input_shape", "target_shape"), [((10,), (1,)), ((10,), ()), ((1, 10), (1,)), ((3, 10), (3,))])
def test_losses_of_single_samples_have_torchs_shapes(input_shape, target_shape):
    x, target = ut.rand(input_shape), ut.zeros(target_shape, dtype=ut.int64)
    assert ut.nn.functional.multi_margin_loss(x, target, reduction="none").shape == target_shape
    assert ut.nn.functional.nll_loss(x, target, reduction="none").shape == (() if len(input_shape) == 1 else target_shape)


def test_class_weights_must_have_the_dtype_of_the_input():
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        ut.nn.functional.nll_loss(ut.zeros(2, 3), ut.tensor([0, 1]), weight=ut.ones(3, dtype=ut.float64))
