"""Creation functions: shapes, dtypes, layouts, keywords and errors."""

import numpy as np
import pytest

import undertow as ut


def test_sizes_may_be_numbers_tuples_lists_or_a_keyword():
    for made in (ut.zeros(2, 3), ut.zeros((2, 3)), ut.zeros([2, 3]), ut.zeros(size=(2, 3))):
        assert made.shape == (2, 3) and made.tolist() == [[0.0] * 3] * 2
    assert ut.zeros(()).shape == ()


def test_the_dtype_of_full_follows_its_value():
    assert ut.full((2,), 1).dtype == ut.int64
    assert ut.full((2,), 1.0).dtype == ut.float32
    assert ut.full((2,), True).dtype == ut.bool
    assert ut.full((2,), 1j).dtype == ut.complex64


def test_requires_grad_makes_a_leaf():
    for made in (ut.zeros(2, requires_grad=True), ut.rand(2, requires_grad=True), ut.ones(2).new_full((2,), 3.0, requires_grad=True)):
        assert made.requires_grad and made.is_leaf
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        ut.zeros(2, dtype=ut.int64, requires_grad=True)


def test_out_is_filled_in_its_own_dtype():
    out = ut.empty(0, dtype=ut.float64)
    assert ut.full((3,), 0.1, out=out) is out
    assert out.tolist() == [0.1] * 3
    with pytest.raises(RuntimeError, match="dtype Float does not match dtype of out parameter"):
        ut.zeros(2, out=out, dtype=ut.float32)


@pytest.mark.parametrize("args", [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0, 1, 0.1), (2.5,), (0, 5, 0.5)])
def test_arange_agrees_with_numpy(args):
    got, want = ut.arange(*args), np.arange(*args)
    assert got.shape == want.shape
    assert np.allclose(got.tolist(), want)
    assert got.dtype == (ut.int64 if all(isinstance(a, int) for a in args) else ut.float32)


def test_arange_counts_exactly_beyond_doubles():
    assert ut.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]


@pytest.mark.parametrize("bad", [(1, 0), (0, 1, 0), (0, float("inf")), (0, float("nan"))])
def test_arange_raises(bad):
    with pytest.raises(RuntimeError, match="inconsistent|nonzero|unsupported range"):
        ut.arange(*bad)


def test_linspace_includes_both_ends():
    line = ut.linspace(-3, 10, 17)
    assert line[0].item() == -3 and line[-1].item() == 10
    assert np.allclose(line.tolist(), np.linspace(-3, 10, 17))
    assert ut.linspace(0, 10, 4, dtype=ut.int32).tolist() == [0, 3, 6, 10]
    assert ut.linspace(2, 3, 1).tolist() == [2.0]
    assert np.allclose(ut.logspace(0, 2, 5, base=2).tolist(), np.logspace(0, 2, 5, base=2))


def test_like_functions_keep_a_dense_layout_and_drop_gaps():
    turned = ut.ones(2, 3, 4).permute(2, 0, 1)
    assert ut.zeros_like(turned).stride() == turned.stride()
    assert ut.zeros_like(ut.ones(3, 1).expand(3, 4)).stride() == (4, 1)
    assert ut.empty_like(ut.ones(2, 3, 4, 5), memory_format=ut.channels_last).stride() == (60, 1, 15, 3)


def test_a_number_that_does_not_fit_raises():
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        ut.full((2,), 300, dtype=ut.uint8)
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        ut.full_like(ut.ones(2), 1j)


@pytest.mark.parametrize("value", [300, -256, 255.5, -0.5, float("inf"), 1 + 1j])
def test_every_way_to_fill_raises_for_a_number_that_does_not_fit(value):
    x = ut.zeros(3, dtype=ut.uint8)
    for fill in (x.fill_, lambda v: ut.full_like(x, v), lambda v: x.masked_fill(x == 0, v), lambda v: ut.full((3,), v, dtype=ut.uint8)):
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
            fill(value)
    assert x.tolist() == [0, 0, 0]


def test_eye_and_new_forms():
    assert ut.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = ut.ones(2, dtype=ut.float64)
    assert x.new_zeros(3).dtype == ut.float64
    assert x.new_tensor([1, 2]).dtype == ut.float64
    with pytest.raises(RuntimeError, match="n must be greater or equal to 0"):
        ut.eye(-1)


def test_asarray_shares_memory_where_it_can():
    array = np.arange(3.0)
    shared = ut.asarray(array)
    array[0] = 7
    assert shared[0].item() == 7
    assert ut.asarray(array, copy=True).data_ptr() != shared.data_ptr()
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        ut.asarray([1, 2], copy=False)
    assert ut.as_tensor(shared) is shared


def _is_filled(t):
    if t.dtype.is_floating_point or t.dtype.is_complex:
        return bool(t.isnan().all())
    if t.dtype == ut.bool:
        return bool(t.all())
    return t.tolist() == ut.full(t.shape, ut.iinfo(t.dtype).max, dtype=t.dtype).tolist()


@pytest.mark.parametrize("dtype", [ut.float32, ut.bfloat16, ut.complex64, ut.int8, ut.int64, ut.uint8, ut.bool, ut.uint16, ut.uint64, ut.float16], ids=str)
def test_deterministic_algorithms_fill_memory_that_nothing_was_written_to(dtype):
    zeros = ut.zeros(4, 3, dtype=dtype)
    makers = [
        lambda: ut.empty(4, 3, dtype=dtype),
        lambda: ut.empty(4, 3, out=ut.zeros(0, dtype=dtype)),
        lambda: ut.empty_like(zeros),
        lambda: ut.empty_strided((4, 3), (1, 4), dtype=dtype),
        lambda: ut.empty_permuted((4, 3), (1, 0), dtype=dtype),
        lambda: zeros.new_empty(4, 3),
        lambda: zeros.new_empty_strided((4, 3), (1, 4)),
    ]
    resized = [ut.zeros(5, dtype=dtype), ut.zeros(5, dtype=dtype), ut.zeros(5, dtype=dtype)]
    try:
        ut.use_deterministic_algorithms(True)
        for make in makers:
            assert _is_filled(make())
        assert _is_filled(resized[0].resize_(4, 3).view(-1)[5:]) and not resized[0].view(-1)[:5].any()
        assert _is_filled(resized[1].resize_as_(zeros).view(-1)[5:]) and not resized[1].view(-1)[:5].any()
        assert not resized[2].resize_(3).any() and not ut.zeros_like(zeros).any() and ut.full_like(zeros, 1).bool().all()
        assert _is_filled(ut.Tensor(3)) and ut.empty(2, 3, device="meta").shape == (2, 3)
        ut.utils.deterministic.fill_uninitialized_memory = False
        assert ut.utils.deterministic.fill_uninitialized_memory is False
        before = ut.full((4, 3), 1, dtype=dtype)
        assert before.resize_(2, 3).resize_(4, 3).bool().all()
        assert not _is_filled(ut.zeros(2, dtype=dtype).resize_(1).resize_(2))
    finally:
        ut.utils.deterministic.fill_uninitialized_memory = True
        ut.use_deterministic_algorithms(False)
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        ut.utils.deterministic.fill_uninitialized_memory = 1


def test_any_number_has_a_truth_value():
    numbers = [2**64, -(2**70), 0, float("nan"), 0.0, 1j, 0j, np.float32(0.5), np.int8(0)]
    assert ut.tensor(numbers, dtype=ut.bool).tolist() == [bool(x) for x in numbers]
    assert ut.tensor(2**64, dtype=ut.bool).item() is True
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        ut.tensor([2**64])


def test_a_list_that_contains_itself_and_a_sequence_without_items_raise():
    itself = [0]
    itself += [itself]
    with pytest.raises(TypeError, match="self-referential lists are incompatible"):
        ut.tensor(itself)

    class Broken:
        def __len__(self):
            return 3

        def __getitem__(self, item):
            raise TypeError

    with pytest.raises(ValueError, match="could not determine the shape of object type 'Broken'"):
        ut.tensor(Broken())


def test_nan_is_no_integer():
    with pytest.raises(RuntimeError, match="value cannot be converted to type int64 without overflow"):
        ut.tensor([float("nan")], dtype=ut.int64)


def test_a_list_of_arrays_warns_that_it_is_slow():
    ut.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="from a list of numpy.ndarrays is extremely slow"):
            assert ut.tensor([np.array([0]), np.array([1])]).tolist() == [[0], [1]]
    finally:
        ut.set_warn_always(False)
