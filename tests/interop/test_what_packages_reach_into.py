"""Undocumented parts of torch that packages use: files as storages, optimizers that wrap others, weights of recurrent layers, pytrees."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.utils import _pytree


def test_a_storage_over_a_file_is_private_unless_shared(tmp_path):
    path = str(tmp_path / "bytes")
    with open(path, "wb") as file:
        file.write(bytes(range(16)))
    private = ut.UntypedStorage.from_file(path, False, 16)
    assert private.tolist() == list(range(16))
    ut.asarray(private, dtype=ut.uint8).fill_(7)
    assert private[0] == 7
    with open(path, "rb") as file:
        assert file.read() == bytes(range(16))
    shared = ut.UntypedStorage.from_file(path, shared=True, nbytes=20)
    ut.asarray(shared, dtype=ut.uint8)[:2] = 9
    del shared
    with open(path, "rb") as file:
        assert file.read() == bytes([9, 9, *range(2, 16), 0, 0, 0, 0])


def test_a_file_that_is_too_short_raises_and_none_is_created(tmp_path):
    (tmp_path / "short").write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="has 3 bytes, but 4 are requested"):
        ut.UntypedStorage.from_file(str(tmp_path / "short"), nbytes=4)
    with pytest.raises(FileNotFoundError):
        ut.UntypedStorage.from_file(str(tmp_path / "none"), nbytes=4)
    assert len(ut.UntypedStorage.from_file(str(tmp_path / "short"))) == 0


def test_a_tensor_over_a_file_shares_its_bytes_if_asked(tmp_path):
    path = tmp_path / "numbers"
    shared = ut.from_file(str(path), shared=True, size=3, dtype=ut.int16)
    shared.copy_(ut.tensor([1, 2, 3]))
    assert path.read_bytes() == b"\1\0\2\0\3\0" and shared.untyped_storage().filename == str(path)
    private = ut.from_file(path, size=2, dtype=ut.int16)
    private.fill_(9)
    assert path.read_bytes() == b"\1\0\2\0\3\0" and private.untyped_storage().filename is None
    assert ut.from_file(str(path), True, 3, dtype=ut.int16).add_(1).tolist() == [2, 3, 4] == shared.tolist()
    assert shared[1:].untyped_storage().filename == str(path) and ut.ones(1).untyped_storage().filename is None
    assert ut.from_file(str(path), size=1).dtype is ut.float32 and ut.from_file(str(path), size=1, requires_grad=True).requires_grad
    assert ut.from_file(str(path)).shape == (0,)


def test_from_file_refuses_what_it_cannot_do(tmp_path):
    path = tmp_path / "short"
    path.write_bytes(b"abcd")
    with pytest.raises(RuntimeError, match="has 4 bytes, but 8 are requested"):
        ut.from_file(str(path), size=2)
    with pytest.raises(RuntimeError, match="size must not be negative, got -1"):
        ut.from_file(str(path), size=-1)
    with pytest.raises(RuntimeError, match="cannot be pinned"):
        ut.from_file(str(path), size=1, pin_memory=True)
    for options in ({"device": "meta"}, {"layout": ut.sparse_coo}):
        with pytest.raises(NotImplementedError, match="only dense tensors on the CPU"):
            ut.from_file(str(path), size=1, **options)


def test_tensor_of_a_storage_shares_its_bytes():
    x = ut.tensor([1.0, 2.0, 3.0])
    bytes_ = x.untyped_storage()
    for made in (ut.tensor(bytes_, dtype=ut.float32), ut.as_tensor(bytes_, dtype=ut.float32)):
        assert made.tolist() == [1.0, 2.0, 3.0] and made.data_ptr() == x.data_ptr()
    assert ut.tensor(bytes_, dtype=ut.int32).shape == (3,) and ut.tensor(bytes_).dtype is ut.int64 and ut.tensor(bytes_).shape == (1,)


def test_asarray_sees_a_storage_as_elements():
    x = ut.arange(3.0)
    y = ut.asarray(x.untyped_storage(), dtype=ut.float32)
    y[1] = 5
    assert x.tolist() == [0.0, 5.0, 2.0]
    assert ut.asarray(x.untyped_storage()[4:8], dtype=ut.uint8).shape == (4,)


def test_an_optimizer_that_never_called_init_can_step():
    class Wrapper(ut.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    p = ut.nn.Parameter(ut.ones(2))
    p.grad = ut.ones(2)
    wrapper, other = Wrapper(ut.optim.SGD([p], lr=0.5)), Wrapper(None)
    wrapper.step()
    assert p.tolist() == [0.5, 0.5]
    with pytest.raises(TypeError):
        other._optimizer_step_pre_hooks[0] = print


def test_the_list_of_weights_of_a_recurrent_layer_can_be_set():
    ut.manual_seed(0)
    layer, x = ut.nn.LSTM(2, 3), ut.randn(4, 1, 2)
    before = layer(x)[0]
    layer._flat_weights = [ut.nn.Parameter(w.detach() * 2) for w in layer._flat_weights]
    doubled = layer(x)[0]
    assert not ut.allclose(before, doubled)
    layer._flat_weights = [ut.nn.Parameter(w.detach() / 2) for w in layer._flat_weights]
    ut.testing.assert_close(layer(x)[0], before)
    assert all(a is b for a, b in zip(layer._flat_weights, layer.parameters(), strict=True))


def test_a_registered_container_gives_its_own_keys():
    class Output(dict):
        pass

    _pytree.register_pytree_node(
        Output, _pytree._dict_flatten, lambda values, keys: Output(_pytree._dict_unflatten(values, keys)),
        serialized_type_name="Output", flatten_with_keys_fn=_pytree._dict_flatten_with_keys,
    )  # fmt: skip
    tree = [Output(a=1, b=Output(c=2))]
    assert [_pytree.keystr(way) for way, _ in _pytree.tree_leaves_with_path(tree)] == ["[0]['a']", "[0]['b']['c']"]
    again = _pytree.tree_map(lambda x: x + 1, tree)
    assert again == [{"a": 2, "b": {"c": 3}}] and type(again[0]["b"]) is Output
