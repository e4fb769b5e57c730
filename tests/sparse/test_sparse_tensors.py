"""Creating, reading, converting, printing, copying and saving sparse tensors."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import undertow as ut


def sample():
    return ut.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0], (2, 3))


def test_a_coo_tensor_has_the_parts_it_was_made_of():
    s = sample()
    assert (s.layout, s.is_sparse, s.is_sparse_csr, s._nnz(), s.sparse_dim(), s.dense_dim(), tuple(s.shape)) == (ut.sparse_coo, True, False, 4, 2, 0, (2, 3))
    assert s._indices().tolist() == [[0, 1, 1, 0], [2, 0, 2, 2]] and s._values().tolist() == [3.0, 4.0, 5.0, 6.0]
    assert not s.is_coalesced() and s.to_dense().tolist() == [[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]]
    c = s.coalesce()
    assert c.is_coalesced() and c.coalesce() is c
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [9.0, 4.0, 5.0]


def test_a_strided_tensor_has_the_strided_layout():
    t = ut.ones(2, 3)
    assert (t.layout, t.is_sparse, t.is_sparse_csr, t.sparse_dim(), t.dense_dim()) == (ut.strided, False, False, 0, 2)
    assert t.to_dense() is t


def test_indices_outside_of_the_size_raise():
    with pytest.raises(RuntimeError, match="for dim 1, size is 3 but found index 3"):
        ut.sparse_coo_tensor([[0], [3]], [1.0], (2, 3))
    with pytest.raises(RuntimeError, match="found negative index -1 for dim 0"):
        ut.sparse_coo_tensor([[-1], [0]], [1.0], (2, 3))
    with pytest.raises(RuntimeError, match="0 <= col_indices < ncols"):
        ut.sparse_csr_tensor([0, 1], [5], [1.0], (1, 3))
    with pytest.raises(RuntimeError, match="nnz"):
        ut.sparse_csr_tensor([0, 2], [1], [1.0], (1, 3))


@pytest.mark.parametrize("layout", [ut.sparse_coo, ut.sparse_csr, ut.sparse_csc, ut.sparse_bsr, ut.sparse_bsc])
@pytest.mark.parametrize("other", [ut.sparse_coo, ut.sparse_csr, ut.sparse_csc, ut.sparse_bsr, ut.sparse_bsc])
def test_layouts_convert_to_each_other(layout, other):
    x = ut.tensor(np.arange(24.0).reshape(4, 6) % 5 % 3)

    def to(t, layout):
        return t.to_sparse(layout=layout, blocksize=(2, 3) if layout in (ut.sparse_bsr, ut.sparse_bsc) else None)

    t = to(to(x, layout), other)
    assert t.layout is other and t.to_dense().equal(x)


def test_compressed_parts():
    x = ut.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    r, c = x.to_sparse_csr(), x.to_sparse_csc()
    assert (r.crow_indices().tolist(), r.col_indices().tolist(), r.values().tolist(), r._nnz()) == ([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], 3)
    assert (c.ccol_indices().tolist(), c.row_indices().tolist(), c.values().tolist()) == ([0, 1, 2, 3], [1, 0, 1], [2.0, 1.0, 3.0])
    assert r.t().layout is ut.sparse_csc and r.t().to_dense().equal(x.t())
    with pytest.raises(RuntimeError, match="ccol_indices expected sparse column compressed tensor layout but got SparseCsr"):
        r.ccol_indices()


def test_values_share_memory_and_history():
    v = ut.tensor([1.0, 2.0], requires_grad=True)
    s = ut.sparse_coo_tensor([[0, 2]], v, (3,))
    assert s.requires_grad and not s.is_leaf and s._values().data_ptr() == v.data_ptr()
    (s.to_dense() * ut.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert v.grad.tolist() == [1.0, 3.0]
    c = ut.sparse_csr_tensor([0, 1, 2], [1, 0], v, (2, 2))
    (grad,) = ut.autograd.grad((c.to_dense() * ut.tensor([[1.0, 2.0], [3.0, 4.0]])).sum(), v)
    assert grad.tolist() == [2.0, 3.0]


def test_a_hybrid_tensor_has_dense_dimensions():
    h = ut.sparse_coo_tensor([[0, 2, 0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))
    assert (h.sparse_dim(), h.dense_dim()) == (1, 1)
    assert h.to_dense().tolist() == [[6.0, 8.0], [0.0, 0.0], [3.0, 4.0]]
    assert h.coalesce().values().tolist() == [[6.0, 8.0], [3.0, 4.0]]
    assert ut.eye(3).to_sparse(1).values().tolist() == ut.eye(3).tolist()


def test_copies_and_pickles_keep_the_parts():
    for t in (sample(), sample().coalesce().requires_grad_(), sample().to_sparse_csr()):
        for new in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), copy.copy(t)):
            assert new.layout is t.layout and new.requires_grad == t.requires_grad and repr(new) == repr(t)
        deep = copy.deepcopy(t)
        with ut.no_grad():
            deep.mul_(2)
        assert t.detach().to_dense().tolist() == [[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]]


def test_files_keep_the_parts():
    for t in (sample(), sample().coalesce(), sample().to_sparse_csr(), sample().to_sparse_csc(), ut.eye(4).to_sparse_bsr((2, 2))):
        file = io.BytesIO()
        ut.save({"t": t}, file)
        file.seek(0)
        assert repr(ut.load(file)["t"]) == repr(t)


def test_a_file_with_indices_outside_of_the_size_raises():
    file = io.BytesIO()
    ut.save(sample(), file)
    bad = file.getvalue()
    where = bad.find(np.array([0, 1, 1, 0, 2, 0, 2, 2]).tobytes())
    from zlib import crc32

    corrupt = bytearray(bad)
    corrupt[where] = 9
    record = bytes(corrupt[where : where + 64])
    old = crc32(bad[where : where + 64]).to_bytes(4, "little")
    corrupt = bytes(corrupt).replace(old, crc32(record).to_bytes(4, "little"))
    with pytest.raises(pickle.UnpicklingError, match="size is inconsistent with indices"):
        ut.load(io.BytesIO(corrupt))


def test_exchange_with_scipy():
    scipy = pytest.importorskip("scipy.sparse")
    m = scipy.random(5, 4, density=0.4, random_state=1)
    s = ut.sparse_coo_tensor(np.stack([m.row, m.col]), m.data, m.shape).coalesce()
    np.testing.assert_array_equal(s.to_dense().numpy(), m.toarray())
    back = scipy.coo_array((s.values().numpy(), tuple(s.indices().numpy())), shape=tuple(s.shape))
    np.testing.assert_array_equal(back.toarray(), m.toarray())
    r = m.tocsr()
    c = ut.sparse_csr_tensor(r.indptr, r.indices, r.data, r.shape)
    assert c.crow_indices().dtype is ut.int32
    np.testing.assert_array_equal((c @ ut.ones(4, 2, dtype=ut.float64)).numpy(), m.toarray() @ np.ones((4, 2)))
    again = scipy.csr_array((c.values().numpy(), c.col_indices().numpy(), c.crow_indices().numpy()), shape=tuple(c.shape))
    np.testing.assert_array_equal(again.toarray(), m.toarray())


def test_printing():
    assert repr(ut.eye(2).to_sparse()) == (
        "tensor(indices=tensor([[0, 1],\n                       [0, 1]]),\n       values=tensor([1., 1.]),\n"
        "       size=(2, 2), nnz=2, layout=undertow.sparse_coo)"
    )
    assert "crow_indices=tensor([0, 1, 2])" in repr(ut.eye(2).to_sparse_csr()) and "requires_grad=True" in repr(sample().requires_grad_())


def test_the_checks_are_a_switch():
    check = ut.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError, match="cannot set is_coalesced to true"):
            ut.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (3,), is_coalesced=True)
    assert ut.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), is_coalesced=True).is_coalesced()


def test_older_protocols():
    s = sample()
    assert [t.to_dense().tolist() for t in s] == s.to_dense().tolist() and len(s) == 2 and s.stride() == (0, 0)
    assert s.type() == "undertow.sparse.FloatTensor" and s[:].to_dense().equal(s.to_dense()) and s[:] is not s
    assert ut.spmm(s, ut.ones(3, 1)).tolist() == [[9.0], [9.0]]
    p = copy.deepcopy(ut.nn.Parameter(s))
    assert type(p) is ut.nn.Parameter and p.is_sparse and p.requires_grad
    ut.testing.assert_close(s, s.coalesce())
    with pytest.raises(AssertionError, match="Mismatched elements: 3 / 6"):
        ut.testing.assert_close(s, s * 2)


def test_a_module_keeps_sparse_buffers():
    m = ut.nn.Module()
    m.register_buffer("s", sample())
    m.double()
    assert m.s.dtype is ut.float64 and m.s.is_sparse
    m.load_state_dict({"s": sample().double() * 3})
    assert m.s.to_dense().equal(sample().double().to_dense() * 3)


def test_checkpoints_take_sparse_tensors():
    d = ut.ones(3, 2, requires_grad=True)
    ut.utils.checkpoint.checkpoint(lambda x: ut.sparse.mm(sample(), x).sin(), d, use_reentrant=False).sum().backward()
    (expected,) = ut.autograd.grad(ut.sparse.mm(sample(), d).sin().sum(), d)
    assert d.grad.equal(expected)


def test_nothing_is_kept_alive():
    import gc
    import weakref

    s = sample().coalesce().requires_grad_()
    out = (s * 2).to_dense().sum()
    out.backward()
    refs = [weakref.ref(t) for t in (s, s.grad, out)]
    del s, out
    gc.collect()
    assert [r() for r in refs] == [None] * 3


def test_a_sparse_tensor_without_indices_or_values_raises():
    at, values = ut.zeros(1, 2, dtype=ut.int64), ut.ones(2)
    for parts in ((None, None, values), (at, None, None), (at, None, 3)):
        with pytest.raises(TypeError, match="sparse tensor"):
            ut._C._make_sparse(ut.sparse_coo, *parts, False, (4,))


def test_a_tensor_with_values_neither_shrinks_nor_changes_its_kinds_of_dimensions():
    def hybrid():
        return ut.ones(2, 2, 2).to_sparse(1)

    for size, sparse, dense, words in [
        ((1, 2, 2), 1, 2, r"shrinking the size of sparse dimensions \(from \[2\] to \[1\]\)"),
        ((2, 1, 2), 1, 2, r"shrinking the size of dense dimensions \(from \[2, 2\] to \[1, 2\]\)"),
        ((2, 2, 2), 2, 1, r"changing the number of sparse dimensions \(from 1 to 2\)"),
        ((2, 2, 2), 1, 1, "is not satisfied"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            hybrid().sparse_resize_(size, sparse, dense)


def test_messages_name_the_argument():
    x = ut.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="a dense tensor was found at position 1"):
        ut.cat([x, ut.eye(2)])
    with pytest.raises(RuntimeError, match=r"sparse_dim argument must be in \[0,2\] range, but 3 is given"):
        ut.eye(2).to_sparse(3)
