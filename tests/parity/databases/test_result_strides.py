"""Results and gradients have torch's strides, offsets and views, for inputs of every layout: torch's operator database."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")
pytest.importorskip("expecttest", reason="torch's operator database needs expecttest, which is not installed")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ops"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from carry import find
from result_strides import sweep
from test_opcheck import database

pytestmark = [pytest.mark.filterwarnings("ignore")]

# Not compared at all.
SKIPPED = {
    "normal": "the database calls it through a wrapper",
    "svd_lowrank": "the database calls it through a wrapper",
    "pca_lowrank": "the database calls it through a wrapper",
    "zero_": "the database calls it through a wrapper",
    "sparse.mm": "sparse",
    "sparse.sampled_addmm": "sparse",
}
# Where strides differ: the places of an operator ("result", "gradient", "view", "error") and the reason.
Places = dict[str, tuple[set[str], str]]
# Whether torch raises too depends on the kernels for the processor, so a run may not see these differences.
SINGULAR = ("linalg.inv", "linalg.lu_factor", "linalg.matrix_power", "linalg.solve", "linalg.tensorsolve")
_COPIED = "the database resizes a copy, and ours the sample itself"
_REFLECTED = "y + x is computed as it is written, in the layout of y; torch computes x + y"
# On purpose, or because the two cannot be compared.
INTENDED: Places = {
    **dict.fromkeys(("__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"), ({"result"}, _REFLECTED)),
    **dict.fromkeys(("resize_", "resize_as_"), ({"result", "view"}, _COPIED)),
    **dict.fromkeys(SINGULAR, ({"error"}, "a matrix of equal columns is exactly singular here; in torch its pivot is zero or a rounding error")),
    **dict.fromkeys(("matmul", "__rmatmul__", "linalg.cond", "nn.functional.linear"), ({"view"}, "a new tensor is a view of another one in torch, or here; nobody else sees that other one")),
    "as_strided_scatter": ({"result", "gradient"}, "the result is dense, as each sample is under vmap; the gradient of the part is a view of that of the whole"),
    "masked.prod": ({"result"}, "the product over no dimension is a copy, not the input itself"),
}
_COMPOSED = "composed of other operators than in torch"
_LAPACK = "torch's factor has the layout in which LAPACK leaves it"
# Not done: torch's strides would need another composition, or one more copy.
NOT_DONE: Places = {
    **dict.fromkeys(("linalg.svd", "svd"), ({"result"}, _LAPACK)),
    **dict.fromkeys(("linalg.pinv", "pinverse", "linalg.det", "lu_solve", "cdist", "einsum", "tensordot", "istft", "stft"), ({"gradient"}, _COMPOSED)),
    **dict.fromkeys(("index_reduce", "scatter_reduce"), ({"gradient"}, "the gradient of a product is row-major; torch's has the layout of src")),
    "nn.functional.bilinear": ({"gradient"}, "that of an expanded weight is not row-major"),
    "linalg.lu_solve": ({"view", "gradient"}, _COMPOSED),
    "linalg.householder_product": ({"result", "view", "gradient"}, _COMPOSED),
    "linalg.lstsq": ({"result", "gradient", "error"}, "the database returns two of the four results; " + _LAPACK),
    "ormqr": ({"result", "gradient"}, _COMPOSED),
    "unravel_index": ({"result", "view"}, "torch's results are parts of one tensor"),
    "nn.functional.binary_cross_entropy_with_logits": ({"result", "gradient"}, "a loss with pos_weight has the layout of the input; torch's has that of the target"),
    "nn.functional.soft_margin_loss": ({"gradient"}, "the gradient is row-major; torch's has the layout of the target"),
    "nn.functional.max_pool3d": ({"result"}, "one volume whose channels are innermost is row-major here"),
    "nn.functional.multi_head_attention_forward": ({"gradient"}, "the gradient of a mask is a part of a larger one"),
}
KNOWN = INTENDED | NOT_DONE


def operators() -> list[str]:
    return [name for name in database() if name not in SKIPPED and find(name) is not None and not name.startswith("torch.ops")]


def unexpected(name: str, limit: int | None, layouts: tuple[str, ...] | None = None, parts: tuple[str, ...] = ("all", "first", "rest")):
    """How many calls were compared, the differences that are not known, and the known places that were seen."""
    ran, found = sweep(name, limit, parts=parts, **({} if layouts is None else {"layouts": layouts}))
    places = KNOWN.get(name, (set(), ""))[0]
    known = [d for d in found if d.place.split()[0] in places]
    return ran, [d for d in found if d not in known], {d.place.split()[0] for d in known}


@pytest.mark.parametrize("name", operators())
def test_strides_of_a_few_layouts_are_torchs(name: str):
    ran, found, _ = unexpected(name, 2, ("transposed", "channels last", "stepped"), ("all",))
    if not ran:
        pytest.skip("no sample has a tensor with such a layout")
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("name", operators())
def test_strides_are_torchs(name: str):
    ran, found, seen = unexpected(name, 6)
    if not ran:
        pytest.skip("no sample has a tensor")
    assert not found
    assert name in SINGULAR or seen == KNOWN.get(name, (set(), ""))[0], "what is no longer different"
