"""Datasets, samplers, collation, and the DataLoader's arguments, without worker processes."""

from __future__ import annotations

from collections import OrderedDict, UserDict, namedtuple

import numpy as np
import pytest

import undertow as ut
from undertow.utils import data
from undertow.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    _collate,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)


class Count(IterableDataset):
    def __init__(self, n=3):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


class Batched(Dataset):
    """Returns a whole batch at once."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return 4

    def __getitem__(self, i):
        raise AssertionError("one by one")

    def __getitems__(self, indices):
        self.asked.append(indices)
        return [i * 10 for i in indices]


def test_tensor_datasets_return_rows():
    d = TensorDataset(ut.arange(4), ut.eye(4))
    assert len(d) == 4
    x, row = d[2]
    assert (x.item(), row.tolist()) == (2, [0, 0, 1, 0])
    with pytest.raises(AssertionError, match="^Size mismatch between tensors"):
        TensorDataset(ut.ones(2), ut.ones(3))


def test_datasets_are_joined_and_stacked():
    d = Subset(range(10), [7, 8]) + Subset(range(10), [1])
    assert isinstance(d, ConcatDataset)
    assert ([d[i] for i in range(3)], d[-1], d[-3], len(d)) == ([7, 8, 1], 1, 7, 3)
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        d[-4]
    with pytest.raises(IndexError):
        d[3]
    for bad, message in (([], "should not be an empty iterable"), ([Count()], "does not support IterableDataset")):
        with pytest.raises(AssertionError, match=message):
            ConcatDataset(bad)
    chain = Count(2) + Count(3)
    assert isinstance(chain, ChainDataset)
    assert (list(chain), len(chain)) == ([0, 1, 0, 1, 2], 5)
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(ChainDataset([range(2)]))
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    assert StackDataset(x=[1, 2], y="ab")[0] == {"x": 1, "y": "a"}
    assert StackDataset([1, 2, 3, 4], Batched()).__getitems__([1, 3]) == [(2, 10), (4, 30)]
    for make, message in (
        (lambda: StackDataset(), "At least one dataset"),
        (lambda: StackDataset([1], a=[1]), "Supported either"),
        (lambda: StackDataset([1], [1, 2]), "Size mismatch between datasets"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        Dataset()[0]


def test_subsets_accept_single_indices_lists_and_batches():
    s = Subset(TensorDataset(ut.arange(10)), [5, 6, 7])
    assert s[1][0].item() == 6
    assert s[[0, 2]][0].tolist() == [5, 7]
    assert [x[0].item() for x in s.__getitems__([0, 1])] == [5, 6]
    batched = Batched()
    assert Subset(batched, [3, 2]).__getitems__([1]) == [20]
    assert batched.asked == [[2]]


def test_random_splits_cover_all_without_overlap():
    for lengths in ([3, 7], [0.3, 0.7], [1 / 3, 1 / 3, 1 / 3]):
        parts = random_split(range(10), lengths)
        assert sorted(i for part in parts for i in part.indices) == list(range(10))
    assert [len(p) for p in random_split(range(10), [1 / 3] * 3)] == [4, 3, 3]
    again = [random_split(range(10), [5, 5], generator=ut.Generator().manual_seed(3))[0].indices for _ in range(2)]
    assert again[0] == again[1]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(range(10), [1, 2])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(10), [2.0, -1.0])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(1), [0.5, 0.5])


def test_samplers():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(RandomSampler("abc")) == [0, 1, 2]
    assert len(list(RandomSampler("abc", num_samples=7))) == len(RandomSampler("abc", num_samples=7)) == 7
    drawn = list(RandomSampler("abc", replacement=True, num_samples=100))
    assert len(drawn) == 100 and set(drawn) == {0, 1, 2}
    assert sorted(SubsetRandomSampler([5, 6, 9])) == [5, 6, 9]
    assert set(WeightedRandomSampler([0.0, 1.0, 0.0], 20)) == {1}
    assert sorted(WeightedRandomSampler([1.0, 1.0], 2, replacement=False)) == [0, 1]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert (len(BatchSampler(range(5), 2, True)), len(BatchSampler(range(5), 2, False))) == (2, 3)
    with pytest.raises(NotImplementedError):
        iter(Sampler())


@pytest.mark.parametrize(
    "make, cls, message",
    [
        (lambda: RandomSampler("abc", replacement=3), TypeError, "replacement should be a boolean value, but got replacement=3"),
        (lambda: RandomSampler("abc", num_samples=0), ValueError, "num_samples should be a positive integer value, but got num_samples=0"),
        (lambda: RandomSampler(""), ValueError, "num_samples should be a positive integer value"),
        (lambda: BatchSampler([1], 0, False), ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
        (lambda: BatchSampler([1], 1, 3), ValueError, "drop_last should be a boolean value, but got drop_last=3"),
        (lambda: WeightedRandomSampler([1.0], 0), ValueError, "num_samples should be a positive integer"),
        (lambda: WeightedRandomSampler([1.0], 1, 3), ValueError, "replacement should be a boolean"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "weights should be a 1d sequence"),
        (lambda: DistributedSampler("abc", 2, 2), ValueError, "Invalid rank 2, rank should be in the interval"),
        (lambda: DistributedSampler("abc"), ValueError, "Default process group has not been initialized"),
    ],
)
def test_samplers_raise_for_bad_arguments(make, cls, message):
    with pytest.raises(cls, match=message):
        make()


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("drop_last", [True, False])
def test_distributed_samplers_partition_the_samples(shuffle, drop_last):
    samplers = [DistributedSampler(range(11), 3, rank, shuffle, drop_last=drop_last) for rank in range(3)]
    parts = [list(s) for s in samplers]
    assert {len(p) for p in parts} == {len(samplers[0])} == {3 if drop_last else 4}
    seen = [i for p in parts for i in p]
    assert set(seen) <= set(range(11))
    assert len(set(seen)) == (9 if drop_last else 11)
    samplers[0].set_epoch(1)
    assert (list(samplers[0]) != parts[0]) is shuffle
    assert list(DistributedSampler([5], 4, 3)) == [0]


Pair = namedtuple("Pair", "a b")


def plain(value):
    """A value with its tensors as (dtype, list)."""
    if isinstance(value, ut.Tensor):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(*map(plain, value)) if hasattr(value, "_fields") else type(value)(map(plain, value))
    return value


I64, F64, F32 = "undertow.int64", "undertow.float64", "undertow.float32"


@pytest.mark.parametrize(
    "batch, expected",
    [
        ([1, 2], (I64, [1, 2])),
        ([1.5, 2.0], (F64, [1.5, 2.0])),
        ([True, False], ("undertow.bool", [True, False])),
        (["a", "b"], ["a", "b"]),
        ([b"a"], [b"a"]),
        ([(1, "x"), (2, "y")], [(I64, [1, 2]), ("x", "y")]),
        ([[1, 2], [3, 4]], [(I64, [1, 3]), (I64, [2, 4])]),
        ([{"a": 1}, {"a": 2}], {"a": (I64, [1, 2])}),
        ([OrderedDict(a=1.0)], OrderedDict(a=(F64, [1.0]))),
        ([Pair(1, 2.0), Pair(3, 4.0)], Pair((I64, [1, 3]), (F64, [2.0, 4.0]))),
        ([np.float32(1), np.float32(2)], (F32, [1.0, 2.0])),
        ([np.array(3), np.array(4)], (I64, [3, 4])),
        ([np.array([1, 2]), np.array([3, 4])], (I64, [[1, 2], [3, 4]])),
        ([ut.ones(2), ut.zeros(2)], (F32, [[1.0, 1.0], [0.0, 0.0]])),
    ],
)  # fmt: skip
def test_default_collate(batch, expected):
    got = default_collate(batch)
    assert plain(got) == expected
    assert type(got) is type(expected) or isinstance(got, ut.Tensor)


@pytest.mark.parametrize(
    "batch, cls, message",
    [
        ([np.array("a")], TypeError, "must contain tensors, numpy arrays, numbers, dicts or lists; found <U1"),
        ([None], TypeError, "found <class 'NoneType'>"),
        ([1j], TypeError, "found <class 'complex'>"),
        ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
        ([ut.ones(2), ut.ones(3)], RuntimeError, "stack expects each tensor to be equal size"),
        ([{"a": 1}, {}], KeyError, "a"),
    ],
)
def test_default_collate_raises(batch, cls, message):
    with pytest.raises(cls, match=message):
        default_collate(batch)


class Angle:
    def __init__(self, degrees):
        self.degrees = degrees


class RightAngle(Angle):
    pass


def test_default_collate_knows_types_that_a_program_adds(monkeypatch):
    known = {**_collate.default_collate_fn_map, Angle: lambda batch, *, collate_fn_map: [a.degrees for a in batch]}
    monkeypatch.setattr(_collate, "default_collate_fn_map", known)
    assert default_collate([{"a": Angle(1), "n": 1}, {"a": Angle(2), "n": 2}])["a"] == [1, 2]
    assert default_collate([RightAngle(90)]) == [90]
    known[RightAngle] = lambda batch, *, collate_fn_map: collate_fn_map is known
    assert default_collate([RightAngle(90)]) is True
    assert plain(default_collate([np.float64(1)])) == (F64, [1.0])
    with pytest.raises(TypeError, match="found <class 'complex'>"):
        default_collate([1j])


def test_collate_with_an_own_map_or_none():
    first = {ut.Tensor: lambda batch, *, collate_fn_map: batch[0]}
    assert plain(_collate.collate([(ut.ones(1), ut.zeros(1))] * 2, collate_fn_map=first)) == [(F32, [1.0]), (F32, [0.0])]
    with pytest.raises(TypeError, match="found <class 'int'>"):
        _collate.collate([1, 2])


def test_default_convert_converts_arrays_and_leaves_the_rest():
    assert plain(default_convert(np.float32(1))) == (F32, 1.0)
    assert plain(default_convert({"a": np.ones(1), "b": [np.ones(1), "s"]})) == {"a": (F64, [1.0]), "b": [(F64, [1.0]), "s"]}
    assert plain(default_convert((1, np.ones(1)))) == [1, (F64, [1.0])]
    assert plain(default_convert(Pair(1, np.ones(1)))) == Pair(1, (F64, [1.0]))
    assert type(default_convert(UserDict(a=np.ones(1)))) is UserDict
    array = np.ones(3)
    assert default_convert(array).data_ptr() == array.ctypes.data
    text = np.array("a")
    assert default_convert(text) is text
    x = ut.ones(1)
    assert default_convert(x) is x


def test_loaders_batch_by_index():
    d = TensorDataset(ut.arange(5))
    assert [b[0].tolist() for b in DataLoader(d, 2)] == [[0, 1], [2, 3], [4]]
    assert [b[0].tolist() for b in DataLoader(d, 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert [b[0].item() for b in DataLoader(d, None)] == [0, 1, 2, 3, 4]
    assert [b[0].tolist() for b in DataLoader(d, sampler=[3, 1], batch_size=2)] == [[3, 1]]
    assert [b[0].tolist() for b in DataLoader(d, batch_sampler=[[1], [2, 4]])] == [[1], [2, 4]]
    assert sorted(b[0].item() for b in DataLoader(d, shuffle=True)) == [0, 1, 2, 3, 4]
    assert (len(DataLoader(d, 2)), len(DataLoader(d, 2, drop_last=True)), len(DataLoader(d, None))) == (3, 2, 5)
    assert list(DataLoader(range(3), 3, collate_fn=sum)) == [3]
    batched = Batched()
    assert [b.tolist() for b in DataLoader(batched, 3)] == [[0, 10, 20], [30]]
    assert batched.asked == [[0, 1, 2], [3]]
    assert get_worker_info() is None


def test_loaders_batch_by_iteration():
    assert [b.tolist() for b in DataLoader(Count(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Count(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(3), None)) == [0, 1, 2]
    assert (len(DataLoader(Count(5), 2)), len(DataLoader(Count(5), 2, drop_last=True)), len(DataLoader(Count(5), None))) == (3, 2, 5)


D = TensorDataset(ut.ones(4))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"num_workers": 1, "prefetch_factor": -1}, "prefetch_factor option should be non-negative"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [1], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive with"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context can only be used with multi-process loading"),
        ({"num_workers": 1, "multiprocessing_context": "foo"}, "should specify a valid start method"),
        ({"dataset": Count(), "shuffle": True}, "expected unspecified shuffle option, but got shuffle=True"),
        ({"dataset": Count(), "sampler": [1]}, "expected unspecified sampler option"),
        ({"dataset": Count(), "batch_sampler": [[1]]}, "expected unspecified batch_sampler option"),
    ],
)
def test_loaders_raise_for_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(**{"dataset": D, **options})


def test_loaders_keep_their_arguments():
    loader = DataLoader(D)
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    with pytest.raises(TypeError, match="valid context object"):
        DataLoader(D, num_workers=1, multiprocessing_context=3)


def test_loaders_warn_about_arguments_without_effect():
    with pytest.warns(UserWarning, match="This DataLoader will create 10000 worker processes"):
        DataLoader(D, num_workers=10_000)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        list(DataLoader(D, pin_memory=True))


def test_all_names_exist():
    for name in data.__all__:
        assert getattr(data, name).__name__ == name
