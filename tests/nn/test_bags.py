"""Embedding bags, CTC loss and smaller modules compared with torch."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

INDICES, OFFSETS = [0, 1, 3, 3, 2, 1], [0, 2, 2, 5]


def tensor(L, *shape, seed: int = 0, grad: bool = False):
    return L.from_numpy(np.random.default_rng(seed).standard_normal(shape)).requires_grad_(grad)


def bag(L, mode, indices=INDICES, offsets=OFFSETS, scales=False, dtype="int64", **options):
    """A result with its gradients, first and second."""
    weight = tensor(L, 4, 3, grad=True)
    input = L.tensor(indices, dtype=getattr(L, dtype))
    inputs = [weight]
    if scales:
        inputs.append(tensor(L, *input.shape, seed=1, grad=True))
        options["per_sample_weights"] = inputs[1]
    starts = None if offsets is None else L.tensor(offsets, dtype=getattr(L, dtype))
    out = L.nn.functional.embedding_bag(input, weight, starts, mode=mode, **options)
    grads = L.autograd.grad(out, inputs, tensor(L, *out.shape, seed=2))
    return [out, *grads, out.grad_fn.name()]


BAGS = {
    **{f"{mode}": lambda L, m=mode: bag(L, m) for mode in ("sum", "mean", "max")},
    **{f"{mode} of rows": lambda L, m=mode: bag(L, m, [[0, 1], [3, 3], [2, 0]], None) for mode in ("sum", "mean", "max")},
    **{f"{mode} without padding": lambda L, m=mode: bag(L, m, padding_idx=3) for mode in ("sum", "mean", "max")},
    **{f"{mode} without padding from the end": lambda L, m=mode: bag(L, m, padding_idx=-2) for mode in ("sum", "mean", "max")},
    **{f"{mode} to the last offset": lambda L, m=mode: bag(L, m, offsets=[0, 2, 6], include_last_offset=True) for mode in ("sum", "mean", "max")},
    **{f"{mode} of int32": lambda L, m=mode: bag(L, m, dtype="int32") for mode in ("sum", "mean", "max")},
    **{f"{mode} by frequency": lambda L, m=mode: bag(L, m, [0, 1, 3, 3], [0, 2], scale_grad_by_freq=True) for mode in ("sum", "mean")},
    "weighted": lambda L: bag(L, "sum", scales=True),
    "weighted rows": lambda L: bag(L, "sum", [[0, 1], [3, 3], [2, 0]], None, scales=True),
    "weighted without padding": lambda L: bag(L, "sum", scales=True, padding_idx=1),
    "empty": lambda L: bag(L, "mean", [], [0, 0]),
    "a mean with weights": lambda L: bag(L, "mean", scales=True),
    "maximum by frequency": lambda L: bag(L, "max", scale_grad_by_freq=True),
    "no offsets": lambda L: bag(L, "sum", offsets=None),
    "offsets of rows": lambda L: bag(L, "sum", [[0, 1]], [0]),
    "an offset too far": lambda L: bag(L, "sum", offsets=[0, 9]),
    "another mode": lambda L: bag(L, "median"),
    "padding out of range": lambda L: bag(L, "sum", padding_idx=9),
    "modules": lambda L: [repr(L.nn.EmbeddingBag(4, 3, padding_idx=1)), repr(L.nn.EmbeddingBag(4, 3, max_norm=1.0, mode="sum", scale_grad_by_freq=True)),
                          dict(L.nn.EmbeddingBag(4, 3, padding_idx=1).state_dict())],
    "a module": lambda L: L.nn.EmbeddingBag(4, 3, mode="sum", max_norm=1.0)(L.tensor(INDICES), L.tensor(OFFSETS)),
}


@pytest.mark.parametrize("name", BAGS)
def test_embedding_bags_match_torch(name: str, same_as_torch):
    same_as_torch(BAGS[name], rtol=1e-5, atol=1e-6, whole_messages=True, seed=7)


def ctc(L, targets, inputs, lengths, steps=6, batch=True, **options):
    scores = tensor(L, steps, 2, 4, grad=True)
    logs = scores.log_softmax(2)
    logs = logs if batch else logs[:, 0]
    out = L.nn.functional.ctc_loss(logs, L.tensor(targets), inputs, lengths, **options)
    grads = L.autograd.grad((out * tensor(L, *out.shape, seed=3)).sum(), scores)
    return [out, *grads, out.grad_fn.name()]


ROWS = [[1, 2, 3], [2, 2, 1]]
ALIGNMENTS = {
    **{reduction: lambda L, r=reduction: ctc(L, ROWS, (6, 5), (3, 2), reduction=r) for reduction in ("none", "mean", "sum")},
    "concatenated targets": lambda L: ctc(L, [1, 2, 3, 2, 2], (6, 5), (3, 2)),
    "lengths as tensors": lambda L: ctc(L, ROWS, L.tensor([6, 5]), L.tensor([3, 2])),
    "repeated labels": lambda L: ctc(L, [[2, 2, 2], [1, 1, 3]], (6, 6), (3, 3), reduction="none"),
    "another blank": lambda L: ctc(L, [[0, 2, 0], [2, 2, 1]], (6, 5), (3, 2), blank=3),
    "no labels": lambda L: ctc(L, ROWS, (6, 5), (0, 2), reduction="none"),
    "impossible, as zero": lambda L: ctc(L, ROWS, (2, 5), (3, 2), zero_infinity=True),
    "impossible": lambda L: ctc(L, ROWS, (2, 5), (3, 2), reduction="none")[0],
    "without a batch": lambda L: ctc(L, ROWS[0], L.tensor(6), L.tensor(3), batch=False, reduction="none"),
    "a blank that is not a label": lambda L: ctc(L, ROWS, (6, 5), (3, 2), blank=7),
    "more labels than given": lambda L: ctc(L, ROWS, (6, 5), (4, 2)),
    "more steps than given": lambda L: ctc(L, ROWS, (7, 5), (3, 2)),
    "lengths of another batch": lambda L: ctc(L, ROWS, (6,), (3, 2)),
    "a module": lambda L: L.nn.CTCLoss(blank=1)(tensor(L, 6, 2, 4).log_softmax(2), L.tensor([[0, 2], [3, 3]]), (6, 5), (2, 1)),
}


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_ctc_loss_matches_torch(name: str, same_as_torch):
    same_as_torch(ALIGNMENTS[name], rtol=1e-8, atol=1e-9, whole_messages=True, seed=7)


def adaptive(L, **made):
    m = L.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10], **made)
    x, y = tensor(L, 6, 16).float(), L.tensor([0, 7, 15, 19, 4, 5])
    out, loss = m(x, y)
    grads = L.autograd.grad(loss, list(m.parameters()))
    return [repr(m), dict(m.state_dict()), out, loss, list(grads), m.log_prob(x), m.predict(x), m(x[0], y[0]).output]


OTHERS = {
    "adaptive softmax": adaptive,
    "adaptive softmax with a bias": lambda L: adaptive(L, div_value=2.0, head_bias=True),
    "a target out of range": lambda L: L.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(L.ones(1, 4), L.tensor([6])),
    "targets of another batch": lambda L: L.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(L.ones(1, 4), L.tensor([1, 2])),
    "cutoffs out of order": lambda L: L.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [3, 2]),
    "cosine": lambda L: [repr(L.nn.CosineSimilarity()), L.nn.CosineSimilarity(0)(tensor(L, 3, 4), tensor(L, 3, 4, seed=1))],
    "distance": lambda L: [repr(L.nn.PairwiseDistance()), L.nn.PairwiseDistance(1.0, keepdim=True)(tensor(L, 3, 4), tensor(L, 3, 4, seed=1))],
    "pixels": lambda L: [repr(L.nn.PixelShuffle(2)), L.nn.PixelShuffle(2)(tensor(L, 1, 8, 2, 3)), L.nn.PixelUnshuffle(2)(tensor(L, 1, 2, 4, 6))],
    "channels": lambda L: [repr(L.nn.ChannelShuffle(2)), L.nn.ChannelShuffle(2)(tensor(L, 1, 4, 2, 2))],
    "dropout with its mask": lambda L: list(L.native_dropout(tensor(L, 5, 7), 0.3, True)),
    "dropout's gradient": lambda L: L.autograd.grad(L.native_dropout(x := tensor(L, 5, 7, grad=True), 0.3, True)[0].sum(), x),
    "dropout without training": lambda L: list(L.native_dropout(tensor(L, 5), 0.3, False)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_smaller_modules_match_torch(name: str, same_as_torch):
    same_as_torch(OTHERS[name], rtol=1e-4, atol=1e-5, whole_messages=True, seed=7)


def test_a_pretrained_table_is_frozen_by_default():
    table = ut.ones(4, 3)
    assert not ut.nn.EmbeddingBag.from_pretrained(table).weight.requires_grad
    assert ut.nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad


def test_a_second_derivative_of_ctc_loss_raises():
    scores = tensor(ut, 6, 2, 4, grad=True)
    loss = ut.nn.functional.ctc_loss(scores.log_softmax(2), ut.tensor(ROWS), (6, 5), (3, 2))
    (g,) = ut.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for .*_ctc_loss_backward is not implemented"):
        g.sum().backward()


def test_the_old_order_of_arguments_still_works_with_a_warning():
    rows, table = ut.tensor([[0, 1]]), ut.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag was changed"):
        assert ut.nn.functional.embedding_bag(table, rows).tolist() == [[2.0, 3.0]]


WRONG = {
    "floats": lambda lib, i, w, o: lib.embedding_bag(w, i.float(), o),
    "a negative row": lambda lib, i, w, o: lib.embedding_bag(w, i - 1, o),
    "weights of another type": lambda lib, i, w, o: lib.embedding_bag(w, i, o, False, 0, False, lib.ones(4, dtype=lib.float64)),
    "weights and a mean": lambda lib, i, w, o: lib.embedding_bag(w, i, o, False, 1, False, lib.ones(4)),
    "an unknown mode": lambda lib, i, w, o: lib.embedding_bag(w, i, o, False, 5),
    "a table of integers": lambda lib, i, w, o: lib.embedding_bag(w.int(), i, o),
    "a late start": lambda lib, i, w, o: lib.embedding_bag(w, i, o + 1),
    "no last offset": lambda lib, i, w, o: lib.nn.functional.embedding_bag(i, w, o[:0], include_last_offset=True),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_raise_torchs_errors(case, same_as_torch):
    same_as_torch(lambda lib: WRONG[case](lib, lib.tensor([0, 1, 2, 3]), lib.arange(20.0).reshape(5, 4), lib.tensor([0, 2])))


def test_a_row_outside_of_the_table_is_named():
    with pytest.raises(RuntimeError, match=r"Index 2 of input takes value 5 which is not in the valid range \[0, 5\)"):
        ut.embedding_bag(ut.ones(5, 4), ut.tensor([3, 4, 5]), ut.tensor([0, 2]))
    with pytest.raises(RuntimeError, match="Expected idx >= 0 && idx < num_embeddings but found idx to be 5, and num_embeddings is 5"):
        ut.embedding_bag(ut.ones(5, 4), ut.tensor([3, 4, 5]), ut.tensor([0, 2]), mode=2)
    with pytest.raises(IndexError, match=r"offsets must not decrease, but offsets\[2\] is 1"):
        ut.embedding_bag(ut.ones(5, 4), ut.tensor([3, 4]), ut.tensor([0, 2, 1]))
