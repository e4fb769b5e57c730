"""LSTM layers on a GPU agree with the CPU's."""
from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import numbers, same_on_both

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 3), (5, 3, 7), (4, 9, 40)])
def test_lstm_and_its_gradients(dtype: ut.dtype, bidirectional: bool, sizes: tuple[int, int, int]) -> None:
    steps, batch, hidden = sizes
    layer = ut.nn.LSTM(6, hidden, num_layers=2, bidirectional=bidirectional, dtype=dtype)
    count = 4 if bidirectional else 2
    x, h, c = numbers(steps, batch, 6, dtype=dtype, grad=True), numbers(count, batch, hidden, dtype=dtype, grad=True), numbers(count, batch, hidden, dtype=dtype, grad=True, seed=1)
    names, weights = zip(*layer.named_parameters())
    def run(inputs: ut.Tensor, hidden_state: ut.Tensor, cell: ut.Tensor, *values: ut.Tensor) -> list[ut.Tensor]:
        out, (last_hidden, last_cell) = ut.func.functional_call(layer, dict(zip(names, values)), (inputs, (hidden_state, cell)))
        return [out, last_hidden, last_cell]
    same_on_both(run, x, h, c, *weights)
