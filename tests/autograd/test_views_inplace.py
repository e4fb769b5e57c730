"""Views and in-place writes: what shares memory, versions and history, and which writes raise. tests/parity/autograd/test_views.py compares with torch."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.autograd import grad


def leaf(*values: float) -> ut.Tensor:
    return ut.tensor(values, dtype=ut.float64, requires_grad=True)


def name(t: ut.Tensor) -> str | None:
    return t.grad_fn.name() if t.grad_fn is not None else None


def test_a_write_through_a_view_is_a_write_to_its_base():
    x = leaf(1, 2, 3, 4)
    base = x * 2
    base.view(2, 2).select(0, 1).mul_(10)
    assert base.tolist() == [2, 4, 60, 80]
    assert name(base) == "torch::autograd::CopySlices"
    assert grad(base.sum(), x)[0].tolist() == [2, 2, 20, 20]


def test_every_view_of_a_written_base_follows():
    x = leaf(1, 2, 3, 4)
    base = x * 1
    first, last = base.narrow(0, 0, 3), base.narrow(0, 1, 3)
    first.mul_(3)
    assert name(first) == name(last) == "AsStridedBackward0"
    assert grad(last.sum(), x, retain_graph=True)[0].tolist() == [0, 3, 3, 1]
    assert grad(first.sum(), x)[0].tolist() == [3, 3, 3, 0]


def test_a_view_requires_grad_once_its_base_does():
    base = ut.tensor([1.0, 2.0])
    view = base.view(2, 1)
    w = ut.tensor(3.0, requires_grad=True)
    base.mul_(w)
    assert view.requires_grad and not view.is_leaf
    assert grad(view.sum(), w)[0].item() == 3


def test_writes_through_views_can_be_differentiated_twice():
    w = ut.tensor(2.0, dtype=ut.float64, requires_grad=True)
    base = leaf(1, 2, 3).detach() * w
    base.narrow(0, 0, 2).mul_(w)
    (g,) = grad((base * base).sum(), w, create_graph=True)
    # (1 + 4) w^4 + 9 w^2
    assert g.item() == pytest.approx(4 * 5 * 8 + 2 * 9 * 2)
    assert grad(g, w)[0].item() == pytest.approx(12 * 5 * 4 + 2 * 9)


def test_a_view_of_another_dtype_is_regenerated_by_its_function():
    w = ut.tensor(2.0, dtype=ut.float64, requires_grad=True)
    z = ut.tensor([1 + 2j, 3 - 1j], dtype=ut.complex128)
    pairs, imag, conj = ut.view_as_real(z), z.imag, z.conj()
    z.mul_(w)
    assert [name(pairs), name(imag), name(conj)] == ["ViewAsRealBackward0", "AsStridedBackward0", "ConjBackward0"]
    assert grad(imag.sum(), w, retain_graph=True)[0].item() == 1.0
    assert grad((conj * conj.conj()).sum().real, w)[0].item() == pytest.approx(2 * 2 * 15)


def test_writing_the_imaginary_part_of_a_conjugate_negates_it():
    z = ut.tensor([1 + 2j, 3 - 1j])
    z.conj().imag.fill_(5.0)
    assert z.tolist() == [1 - 5j, 3 - 5j]
    z.real = ut.tensor([7.0, 8.0])
    assert z.tolist() == [7 - 5j, 8 - 5j]


@pytest.mark.parametrize("many", [lambda b: b.unbind(0), lambda b: b.split(1), lambda b: b.chunk(2)], ids=["unbind", "split", "chunk"])
def test_outputs_of_functions_of_several_views_are_not_written(many):
    base = leaf(1, 2) * 1
    part = many(base)[1]
    with pytest.raises(RuntimeError, match=r"^Output 1 of \w+ is a view and is being modified inplace\. This view is the output"):
        part.mul_(2)
    base.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        part.grad_fn  # noqa: B018


def test_a_view_made_in_no_grad_is_not_written_in_grad_mode():
    base = leaf(1, 2) * 1
    with ut.no_grad():
        view = base.view(2, 1)
        view.mul_(2)
    with pytest.raises(RuntimeError, match="^A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        view.mul_(2)


def test_leaves_and_their_views_are_not_written():
    x = leaf(1, 2)
    for write in (lambda: x.mul_(2), lambda: x.unsqueeze_(0), lambda: x.zero_()):
        with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
            write()
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad"):
        x.view(2, 1).mul_(2)
    assert x._version == 0


def test_geometry_in_place_keeps_a_view_and_its_base():
    x = leaf(1, 2, 3, 4, 5, 6)
    base = x * 1
    view = base.view(2, 3)
    assert view.transpose_(0, 1) is view
    assert view.shape == (3, 2) and view._base is base
    assert [name(view), name(base), base._version] == ["TransposeBackward1", "MulBackward0", 1]
    g = grad((view * ut.tensor([[1.0, 2.0]], dtype=ut.float64)).sum(), x)[0]
    assert g.tolist() == [1, 1, 1, 2, 2, 2]


def test_an_operation_without_derivative_leaves_history_unchanged():
    y = leaf(1, 2) * 1
    y.fill_(3)
    assert name(y) == "FillBackward2"
    assert y.sum().requires_grad


def test_overlapping_windows_sum_their_gradients():
    x = leaf(1, 2, 3, 4)
    windows = x.as_strided((3, 2), (1, 1))
    assert grad(windows.sum(), x)[0].tolist() == [1, 2, 2, 1]
    y = leaf(1, 2, 3, 4)
    assert grad(y.unfold(0, 3, 1).sum(), y)[0].tolist() == [1, 2, 2, 1]


def test_a_repeated_element_gets_its_share_of_the_gradient():
    x = leaf(5)
    repeated = x.expand(3)
    (g,) = grad(repeated.as_strided((3,), (0,)).sum(), repeated)
    assert g.tolist() == [1, 1, 1]


def test_memory_that_overlaps_itself_is_not_written():
    with pytest.raises(RuntimeError, match="^unsupported operation: more than one element of the written-to tensor"):
        ut.ones(1).expand(3).add_(1)
    x = ut.ones(4)
    with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor and the written-to tensor"):
        x.narrow(0, 1, 3).add_(x.narrow(0, 0, 3))
    assert x.tolist() == [1, 1, 1, 1]


def test_a_write_to_the_base_of_a_saved_view_is_detected():
    x = leaf(1, 2)
    base = x * 1
    y = base.view(2, 1) * base.view(2, 1)
    base.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_data_and_detach_differ_in_their_version_counter():
    x = ut.ones(2)
    x.detach().add_(1)
    assert x._version == 1
    x.data.add_(1)
    assert x._version == 1 and x.tolist() == [3, 3]


def test_a_second_backward_through_a_write_raises():
    w = ut.tensor(2.0, requires_grad=True)
    base = ut.ones(3) * 2
    base.narrow(0, 0, 2).add_(w)
    total = base.sum()
    total.backward()
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        total.backward()


def test_views_in_inference_mode():
    x = ut.ones(2)
    with ut.inference_mode():
        made = ut.ones(2)
        assert made.view(2).is_inference() and not made.view(2)._is_view()
        view = x.view(2)
        assert view._is_view() and not view.is_inference()
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside InferenceMode is not allowed"):
        made.add_(1)
    with pytest.raises(RuntimeError, match="^A view was created in inference mode and is being modified inplace in normal mode"):
        view.mul_(ut.tensor(2.0, requires_grad=True))


@pytest.mark.parametrize(
    "write",
    [lambda v: v.zero_(), lambda v: v.fill_(3.0), lambda v: v.copy_(ut.ones(2)), lambda v: v.bernoulli_(0.5)],
    ids=["zero_", "fill_", "copy_", "bernoulli_"],
)
def test_what_was_overwritten_through_a_view_gets_no_gradient(write):
    x = ut.ones(3, 2, requires_grad=True)
    z = x * 1
    write(z[1])
    (z * 5).sum().backward()
    assert x.grad.tolist() == [[5.0, 5.0], [0.0, 0.0], [5.0, 5.0]]


def test_a_view_of_a_view_made_under_no_grad_is_not_written_either():
    x = ut.ones(3, 2, requires_grad=True) * 1
    with ut.no_grad():
        view = x[:2]
    with pytest.raises(RuntimeError, match="no_grad mode and is being modified inplace with grad mode enabled"):
        view[0].mul_(2)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        x.unbind(0)[0][:1].mul_(2)


@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.parametrize(("reduce", "wanted"), [("add", [1.0, 1.0, 1.0, 1.0]), ("multiply", [5.0, 1.0, 6.0, 1.0])])
def test_a_reducing_scatter_into_a_view_keeps_what_its_derivative_reads(reduce: str, wanted: list[float]):
    x = leaf(1, 2, 3, 4)
    base = x * 1
    src = ut.tensor([[5.0, 6.0]], dtype=ut.float64, requires_grad=True)
    base.view(2, 2).t().scatter_(0, ut.tensor([[0, 0]]), src, reduce=reduce)
    base.sum().backward()
    assert x.grad.tolist() == wanted
    assert src.grad.tolist() == ([[1.0, 1.0]] if reduce == "add" else [[1.0, 3.0]])


def test_requires_grad_of_a_view_whose_history_is_forbidden_does_not_ask_for_it():
    class Same(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    base = ut.ones(2, requires_grad=True).exp()
    view = Same.apply(base)
    base.mul_(2)
    assert view.requires_grad_() is view
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        view.sum()


def test_views_of_a_tensor_detached_in_place_may_be_written():
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    written = x.exp()
    written.detach_()
    view, other = written.view(2, 1), written[:1]
    view.mul_(x.view(2, 1))
    (g,) = ut.autograd.grad(written.sum() + other.sum(), x)
    assert ut.allclose(g, x.detach().exp() * ut.tensor([2.0, 1.0]))


def test_a_view_is_added_to_itself_whatever_the_strides_of_single_elements_are():
    x = ut.tensor([[1.0, 2.0, 3.0]])
    column = x.swapaxes(0, -1)
    column.as_strided((3, 1), (1, 1)).add_(column)
    assert x.tolist() == [[2, 4, 6]]


def test_a_view_whose_base_was_detached_and_written_has_lost_its_history():
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    base = x.exp()
    view = base[:1]
    base.detach_()
    assert ut.autograd.grad(view.sum(), x, retain_graph=True)[0][0].item() == pytest.approx(2.718281828)
    base.atan_()
    assert view.requires_grad and not base.requires_grad
    assert ut.autograd.grad(view.sum(), x, allow_unused=True) == (None,)
