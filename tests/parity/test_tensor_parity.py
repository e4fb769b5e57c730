"""Expressions about tensors, evaluated here and with torch: the same values, or the same kind of error."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="parity needs torch")
np = pytest.importorskip("numpy")

import undertow as ut  # noqa: E402
from undertow.as_torch import shims  # noqa: E402

EXPRESSIONS = """
t.tensor([np.float64(1), 2])
t.tensor([np.int32(1), 2])
t.tensor([np.float16(1), 2.5])
t.tensor([True, 1.5, 2])
t.tensor(np.float64(1))
t.tensor([[1, 2], [3, 4]], dtype=t.float16)
t.tensor([1.7, -1.7], dtype=t.int64)
t.tensor([-1.0], dtype=t.uint8)
t.tensor([0.0, 2.0], dtype=t.bool)
t.tensor([[1, 2], [3]])
t.tensor([1, [2]])
t.tensor([[1], 2])
t.tensor('a')
t.tensor(None)
t.tensor(2**63)
t.tensor({})
t.tensor([], dtype=t.int32)
t.tensor([t.tensor(1.0), t.tensor(2)])
t.tensor([t.tensor([1, 2])])
t.Tensor([1, 2])
t.Tensor(2, 0)
t.Tensor(3.0)
t.FloatTensor([[1, 2]])
t.LongTensor([1.9])
t.ByteTensor([1, 2])
t.IntTensor(t.ones(2))
t.from_numpy(np.arange(6).reshape(2, 3).T)
t.from_numpy(np.arange(6.0)[1::2])
t.from_numpy(np.array(5.0))
t.from_numpy(np.arange(3)[::-1])
t.from_numpy([1])
t.from_numpy(np.array(['a']))
t.ones(2).numpy().dtype
t.ones(2, dtype=t.bfloat16).numpy()
t.ones(2, requires_grad=True).numpy()
np.asarray(t.ones(2)).tolist()
np.sin(t.ones(2)).dtype
np.isnan(t.ones(2)).dtype
(np.float64(2) * t.ones(2)).dtype
(t.ones(2) * np.float64(2)).dtype
(t.ones(2) + np.ones(2)).dtype
t.from_dlpack(np.arange(6).reshape(2, 3).T)
t.from_dlpack(t.ones(2))
t.ones(2, requires_grad=True).__dlpack__()
int(t.tensor(2.9))
float(t.tensor(3))
float(t.tensor(3j))
int(t.tensor([1, 2]))
bool(t.tensor([]))
bool(t.tensor([1, 2]))
complex(t.tensor(3.0))
[1, 2, 3][t.tensor(1)]
[1, 2, 3][t.tensor(1.0)]
[1, 2, 3][t.tensor(True)]
len(t.tensor(1))
format(t.tensor(1.5), '.3f')
format(t.ones(2), '.3f')
t.tensor([1.0, 2.0]) == None
t.tensor([1.0, 2.0]) == 'a'
t.tensor([1.0]).item()
t.tensor([1.0, 2.0]).item()
t.tensor([[1, 2], [3, 4]]).tolist()
t.tensor(1.5).tolist()
t.ones(2).to(t.float64).dtype
t.ones(2).to('cpu', t.int8).dtype
t.ones(2).to([1])
t.ones(2).to(t.ones(1, dtype=t.int16)).dtype
t.ones(2).long().dtype
t.ones(2).get_device()
t.ones(2).is_shared()
t.ones(2).element_size()
t.ones(2, 3).untyped_storage().nbytes()
t.ones(2, 3).storage().size()
t.promote_types(t.int32, t.float16)
t.promote_types(t.uint8, t.int8)
t.promote_types(t.bfloat16, t.float16)
t.promote_types(t.complex64, t.float64)
t.result_type(t.ones(1, dtype=t.int32), 1.5)
t.result_type(t.tensor(1.0, dtype=t.float64), t.ones(1, dtype=t.float16))
t.can_cast(t.float32, t.int32)
t.can_cast(t.int32, t.bool)
t.finfo(t.float32).eps
t.finfo(t.bfloat16).max
t.finfo(t.bfloat16).tiny
t.finfo(t.float16).resolution
t.finfo(t.int32)
t.iinfo(t.int16).min
t.iinfo(t.float32)
t.iinfo(t.bool)
t.nn.Parameter(t.ones(2)).requires_grad
t.nn.Parameter(t.ones(2, dtype=t.int64))
t.nn.Parameter(t.ones(2), requires_grad=False).requires_grad
t.frombuffer(bytearray(b'abcd'), dtype=t.uint8)
t.frombuffer(bytearray(b'abcd'), dtype=t.int16, offset=1)
t.frombuffer(bytearray(b'abcd'), dtype=t.int16, count=1, offset=2)
t.frombuffer(bytearray(b'abcd'), dtype=t.int16, count=3)
t.is_nonzero(t.tensor([1, 2]))
t.is_nonzero(t.tensor([0.0]))
t.device('cpu:1')
t.device('xyz')
t.device('cpu', 0)
t.Size([1, 2]) + (3,)
t.Size([1.5])
t.empty(2, dtype=t.int64).requires_grad_()
t.ones(2).set_(t.arange(4.0).untyped_storage(), 1, (2,), (2,))
t.ones(2).set_(t.arange(4.0).untyped_storage(), 3, (2,))
t.ones(2).set_(t.ones(2, dtype=t.int64))
t.ones(2).apply_(lambda x: x + 1)
t.ones(2).map_(t.arange(2.0), lambda x, y: x + y)
t.ones(2).type()
""".strip().split("\n")


def run(expression, module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, {"t": module, "np": np})  # noqa: S307
        except Exception as error:  # noqa: BLE001
            return error


def plain(value):
    if isinstance(value, (torch.Tensor, ut.Tensor)):
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), tuple(value.stride()), value.tolist()
    return str(value).replace("torch.", "undertow.")


class Names:
    """What programs written for torch find: our names, and those that exist only for them."""

    def __getattr__(self, name):
        return getattr(ut, name) if hasattr(ut, name) else getattr(shims, name)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_torch(expression):
    want, got = run(expression, torch), run(expression, Names())
    if isinstance(want, Exception):
        assert type(got) is type(want), f"torch raises {want!r}, here {got!r}"
    else:
        assert plain(got) == plain(want)
