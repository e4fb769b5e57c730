"""The text of sparse tensors, as torch prints them."""

from __future__ import annotations

from undertow import _C
from undertow._tensor_str import _contents, _history, _with_suffixes
from undertow.sparse._parts import COO, index_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import Tensor


def _part(label: str, t: Tensor, indent: int) -> str:
    """Return `label=tensor([...])`; the dtype is that of the whole and not repeated."""
    prefix = f"{label}=tensor("
    text = prefix + _contents(t, indent + len(prefix))
    return text + (f", size={tuple(t.shape)}" if t.numel() == 0 or t.is_meta else "") + ")"


def sparse_repr(t: Tensor) -> str:
    """Return the text of `repr(t)` for a sparse tensor.

    >>> import undertow as ut
    >>> ut.eye(2).to_sparse()
    tensor(indices=tensor([[0, 1],
                           [0, 1]]),
           values=tensor([1., 1.]),
           size=(2, 2), nnz=2, layout=undertow.sparse_coo)
    """
    import undertow as ut
    from undertow import Tensor
    from undertow._C import Parameter

    kind = type(t)
    name = "tensor" if kind is Tensor or kind is Parameter else kind.__name__
    indent = len(name) + 1
    layout, indices, plain, values, _ = _C._sparse_parts(t)
    pad = ",\n" + " " * indent
    if layout is COO:
        parts = [_part("indices", indices, indent)]
    else:
        first, second = index_names(layout)
        parts = [_part(first, indices, indent), _part(second, plain, indent)]
    text = f"{name}(" + pad.join([*parts, _part("values", values, indent)])
    suffixes = [f"size={tuple(t.shape)}", *([] if t.is_meta else [f"nnz={t._nnz()}"])]
    if t.device.type != "cpu":
        suffixes.insert(0, f"device='{t.device}'")
    default = ut.get_default_dtype()
    if t.dtype not in (default, ut.complex128 if default is ut.float64 else ut.complex64, ut.int64, ut.bool):
        suffixes.append(f"dtype={t.dtype}")
    suffixes.append(f"layout={layout}")
    history = _history(t)
    if history is not None:
        suffixes.append(history)
    text = _with_suffixes(text, suffixes, indent, on_new_line=layout is COO)
    return "Parameter containing:\n" + text if issubclass(kind, Parameter) else text
