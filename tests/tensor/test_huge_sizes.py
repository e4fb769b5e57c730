"""Sizes, strides and offsets that 64 bits do not hold, and counts that no memory holds, are errors before anything is read, written or run."""

import pytest

import undertow as ut
import undertow.nn.functional as F

LARGEST = 2**63 - 1

OVERFLOWS = {
    "resize_": lambda: ut.empty(0, dtype=ut.double).resize_(2, 4, 2**29, 2**29),
    "resize_ with an offset": lambda: ut.zeros(4)[2:].resize_(2**61 - 1),
    "resize_ channels last": lambda: ut.empty(0).resize_((2**20, 4, 2**30, 2**30), memory_format=ut.channels_last),
    "as_strided, offset": lambda: ut.as_strided(ut.zeros(6), [1], [1], LARGEST),
    "as_strided, stride": lambda: ut.as_strided(ut.zeros(6), [2], [2**62]),
    "as_strided, sum of strides": lambda: ut.as_strided(ut.zeros(6), [2, 2], [2**62, 2**62]),
    "as_strided_": lambda: ut.zeros(6).as_strided_([1], [1], LARGEST),
    "as_strided_scatter": lambda: ut.as_strided_scatter(ut.zeros(6), ut.ones(1), [1], [1], LARGEST),
    "empty_strided": lambda: ut.empty_strided((2,), (2**62,)),
    "empty_strided, sum": lambda: ut.empty_strided((2, 2), (2**62, 2**62)),
    "new_empty_strided": lambda: ut.zeros(1).new_empty_strided((2,), (2**62,)),
    "set_, sizes": lambda: ut.zeros(6).set_(ut.zeros(6).untyped_storage(), 0, (2, 4, 2**29, 2**29)),
    "set_, offset": lambda: ut.zeros(6).set_(ut.zeros(6).untyped_storage(), LARGEST, (1,)),
    "set_, strides": lambda: ut.zeros(6).set_(ut.zeros(6).untyped_storage(), 0, (2,), (2**62,)),
    "clone of an expanded tensor": lambda: ut.zeros(1).expand(2**62).clone(),
    "out=": lambda: ut.add(ut.zeros(1).expand(2**40, 1), ut.zeros(1).expand(2**40), out=ut.empty(0)),
    "repeat": lambda: ut.zeros(6).repeat(2**62),
}
FACTORIES = {
    "empty": lambda *s: ut.empty(*s),
    "zeros": lambda *s: ut.zeros(*s),
    "ones": lambda *s: ut.ones(*s),
    "full": lambda *s: ut.full(s, 1.0),
    "rand": lambda *s: ut.rand(*s),
    "randn": lambda *s: ut.randn(*s),
    "randint": lambda *s: ut.randint(3, s),
    "Tensor": lambda *s: ut.Tensor(*s),
    "new_empty": lambda *s: ut.zeros(1).new_empty(*s),
    "new_zeros": lambda *s: ut.zeros(1).new_zeros(*s),
    "new_ones": lambda *s: ut.zeros(1).new_ones(s),
    "new_full": lambda *s: ut.zeros(1).new_full(s, 1),
    "meta": lambda *s: ut.empty(*s, device="meta"),
    "resize_": lambda *s: ut.empty(0).resize_(*s),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_a_storage_larger_than_64_bits_count_is_an_error(name):
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed with sizes=|numel: integer multiplication overflow"):
        OVERFLOWS[name]()


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_check_full_and_empty_sizes(name):
    make = FACTORIES[name]
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed with sizes=|numel: integer multiplication overflow"):
        make(2**62, 4)
    for sizes in [(0, 4, 2**61), (0, 2**62, 2), (0, 2**32, 2**32)]:
        with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
            make(*sizes)
    for sizes in [(4, 2**61, 0), (2**62, 0), (0, 2**62)]:
        assert tuple(make(*sizes).shape) == sizes


@pytest.mark.parametrize(
    "make",
    [
        lambda: ut.zeros(1).expand(2**62, 2**62),
        lambda: ut.as_strided(ut.zeros(6), [2**40, 2**40], [0, 0]),
        lambda: ut.empty_strided((2**62, 2**62), (0, 0)),
        lambda: ut.zeros(6).set_(ut.zeros(6).untyped_storage(), 0, (2**62, 2**62), (0, 0)),
        lambda: ut.empty(0).resize_(2**32, 2**32),
    ],
)
def test_a_number_of_elements_larger_than_64_bits_is_an_error(make):
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        make()


def test_a_failed_resize_changes_nothing():
    x = ut.arange(6.0)
    for sizes in [(2, 4, 2**29, 2**29), (0, 2**32, 2**32), (2**62,)]:
        with pytest.raises(RuntimeError, match="overflow"):
            x.resize_(sizes)
        assert x.shape == (6,)
        assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_views_do_not_wrap_around():
    x = ut.zeros(6)
    for shape in [(2**33, 2**33), (LARGEST, 3), (2**32, 2**32, -1)]:
        with pytest.raises(RuntimeError, match="is invalid for input of size 6"):
            x.view(shape)
    with pytest.raises(RuntimeError, match="is invalid for input of size 0"):
        x[:0].view(2**33, 2**33)
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        x.narrow(0, 1, LARGEST)
    assert x[::LARGEST].shape == (1,)
    assert x[: 3 : 2**62].tolist() == [0]
    assert [len(part) for part in x.split(LARGEST)] == [6]
    assert len(x.chunk(LARGEST)) == 6
    with pytest.raises(RuntimeError, match="split_with_sizes expects split_sizes to sum exactly"):
        x.split([2**62, 2**62, 2**62, 2**62, 6])


def test_frombuffer_reads_inside_its_buffer():
    for count, offset, dtype in [(LARGEST, 1, ut.uint8), (2**62, 0, ut.int32), (2, 3, ut.uint8)]:
        with pytest.raises(ValueError, match="must not be greater than actual buffer length"):
            ut.frombuffer(bytearray(b"1234"), dtype=dtype, count=count, offset=offset)


def test_repeat_interleave_counts_do_not_wrap_around():
    with pytest.raises(RuntimeError, match="sum to more than"):
        ut.repeat_interleave(ut.tensor([2**62, 2**62, 2**62, 2**62, 3]))


def test_triangles_are_counted_without_visiting_their_rows():
    assert ut.triu_indices(LARGEST, 2).tolist() == [[0, 0, 1], [0, 1, 1]]
    assert ut.tril_indices(LARGEST, 2, -(LARGEST - 2)).tolist() == [[LARGEST - 2, LARGEST - 1, LARGEST - 1], [0, 0, 1]]
    assert ut.triu_indices(2, 2, LARGEST).shape == (2, 0)
    assert ut.triu_indices(2, 2, -(2**63)).tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert ut.tril(ut.ones(2, 2), LARGEST).tolist() == [[1, 1], [1, 1]]
    assert ut.triu(ut.ones(2, 2), -(2**63)).tolist() == [[1, 1], [1, 1]]
    for rows, cols in [(LARGEST, LARGEST), (LARGEST, 2**62), (2, LARGEST)]:
        with pytest.raises(RuntimeError, match="overflowed"):
            ut.triu_indices(rows, cols)
    for rows in range(5):
        for cols in range(5):
            for offset in range(-6, 7):
                inside = [(i, j) for i in range(rows) for j in range(cols)]
                assert list(zip(*ut.tril_indices(rows, cols, offset).tolist(), strict=True)) == [(i, j) for i, j in inside if j - i <= offset]
                assert list(zip(*ut.triu_indices(rows, cols, offset).tolist(), strict=True)) == [(i, j) for i, j in inside if j - i >= offset]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ut.mvlgamma(x, 2**31),
        lambda x: ut.mvlgamma(x, LARGEST),
        lambda x: ut.tensor_split(x, 2**31),
        lambda x: ut.tensor_split(x, LARGEST),
        lambda x: x[:0].chunk(2**40),
        lambda x: ut.hsplit(x[:0], 2**31),
        lambda x: x[:1].expand(2**40).unbind(),
        lambda x: x[:1].expand(2**40).split(1),
        lambda x: F.adaptive_max_pool1d(x.view(1, 1, 6), 2**31),
        lambda x: F.adaptive_avg_pool1d(x.view(1, 1, 6), 2**62),
        lambda x: F.adaptive_avg_pool2d(x.view(1, 2, 3), (2**62, 2)),
        lambda x: F.adaptive_max_pool3d(x.view(1, 1, 2, 3), 2**31),
        lambda x: F.max_pool1d(x.view(1, 1, 6), 2**62, padding=2**61),
        lambda x: F.avg_pool2d(x.view(1, 2, 3), 2**62, padding=2**61),
        lambda x: F.max_pool2d(x.view(1, 2, 3), 2, dilation=2**62),
        lambda x: ut.arange(-(2**63), LARGEST),
    ],
)
def test_counts_that_no_memory_holds_are_errors_at_once(call):
    with pytest.raises(RuntimeError, match="too large|not enough memory|integer out of range|possible overflow|not divisible") as info:
        call(ut.ones(6))
    assert "internal error" not in str(info.value)
    assert "std::" not in str(info.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.conv1d(ut.ones(1, 1, 6), ut.ones(1, 1, 5), dilation=2**62),  # 4 * 2**62 wraps to 0
        lambda: F.conv2d(ut.ones(1, 1, 6, 6), ut.ones(1, 1, 5, 5), dilation=2**62),
        lambda: F.conv1d(ut.ones(1, 1, 6), ut.ones(1, 1, 3), dilation=LARGEST),
        lambda: F.conv1d(ut.ones(1, 1, 6), ut.ones(1, 1, 3), padding=LARGEST),
        lambda: F.conv_transpose1d(ut.ones(1, 1, 5), ut.ones(1, 1, 5), stride=2**62),
        lambda: F.conv_transpose1d(ut.ones(1, 1, 5), ut.ones(1, 1, 5), padding=LARGEST),
        lambda: F.unfold(ut.ones(1, 1, 6, 6), 5, dilation=2**62),
        lambda: F.unfold(ut.ones(1, 1, 6, 6), 2, padding=LARGEST),
        lambda: F.fold(ut.ones(1, 25, 36), (6, 6), 5, dilation=2**62),
        lambda: F.pad(ut.ones(1, 1, 6), (LARGEST, LARGEST)),
        lambda: F.pad(ut.ones(1, 1, 6), (LARGEST, LARGEST), mode="replicate"),
        lambda: F.fractional_max_pool3d(ut.rand(2, 2, 3, 3, 3), [LARGEST] * 3, [2] * 3),
        lambda: F.fractional_max_pool2d(ut.rand(1, 1, 6, 6), 2, output_size=(LARGEST, 2)),
        lambda: ut.bincount(ut.tensor([LARGEST])),
        lambda: ut.segment_reduce(ut.ones(3), "sum", lengths=ut.tensor([2**62, 2**62, 2**62, 2**62, 3])),
    ],
)
def test_windows_that_wrap_around_are_errors(call):
    with pytest.raises(RuntimeError, match="out of range|too large|overflowed|to sum to"):
        call()


POLYNOMIALS = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_huge_degree_end(name):
    x = ut.tensor([-1.5, -1.0, -0.3, 0.0, 0.3, 1.0, 1.0000000000000002, 1.5, float("nan")], dtype=ut.double)
    for degree in (2**32, 2**62, LARGEST):
        assert getattr(ut.special, name)(x, degree).shape == x.shape


@pytest.mark.parametrize("name", ["legendre_polynomial_p", "laguerre_polynomial_l", *POLYNOMIALS[:4]])
def test_huge_degrees_continue_the_recurrence(name):
    function = getattr(ut.special, name)
    laguerre = name.startswith("la")
    x = ut.tensor([-1e-5, 0.2, 0.7, 1.5] if laguerre else [-1 - 1e-13, -0.9, -0.3, 0.2, 0.7, 1 + 1e-13], dtype=ut.double)
    below, above = function(x, 2**20), function(x, 2**20 + 1)
    # One more step of the recurrence, from the degree at which the closed form takes over.
    before = function(x, 2**20 - 1)
    k = float(2**20)
    step = {
        "le": lambda: ((2 * k + 1) * x * below - k * before) / (k + 1),
        "la": lambda: ((2 * k + 1 - x) * below - k * before) / (k + 1),
        "ch": lambda: 2 * x * below - before,
    }[name[:2]]()
    scale = below.abs() + before.abs() + step.abs()
    assert ((above - step).abs() / scale).max().item() < (1e-4 if laguerre else 1e-5)


@pytest.mark.parametrize("offset", [LARGEST, -LARGEST, -(2**63)])
@pytest.mark.parametrize("function", [ut.diag, ut.diagflat, ut.diag_embed], ids=["diag", "diagflat", "diag_embed"])
def test_an_offset_that_makes_a_diagonal_longer_than_64_bits_count_is_an_error(function, offset):
    with pytest.raises(RuntimeError, match="diag_embed: integer overflow: offset|Storage size calculation overflowed|numel"):
        function(ut.ones(2), offset)


@pytest.mark.parametrize("sizes", [(2**62, 2, 2), (LARGEST, 1, -2, 4)])
def test_sizes_whose_product_overflows_do_not_unflatten(sizes):
    with pytest.raises(RuntimeError, match="don't multiply up to the size of dim 0"):
        ut.ones(0).unflatten(0, sizes)
