"""python -m tools.aten_schemas: writes the schemas of torch's operators (undertow/_aten/schemas.txt) and the names of its other
operators (undertow/as_torch/shims/aten_names.txt) from an installed torch."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.opgen import schema

ROOT = Path(__file__).resolve().parents[1]
TEXT = ROOT / "undertow/_aten/schemas.txt"
NAMES = ROOT / "undertow/as_torch/shims/aten_names.txt"
# Operators that are not in the tables by these names.
MORE = """
_softmax _log_softmax _to_copy detach detach_ alias lift_fresh _local_scalar_dense native_layer_norm_backward native_batch_norm_backward
native_group_norm_backward convolution_backward embedding_dense_backward mse_loss_backward smooth_l1_loss_backward huber_loss_backward
soft_margin_loss_backward binary_cross_entropy_backward nll_loss2d_backward gelu gelu_backward log_sigmoid_forward log_sigmoid_backward _prelu_kernel
_prelu_kernel_backward pow select_backward slice_backward diagonal_backward unfold_backward clamp clamp_ nan_to_num _unsafe_view empty_strided
new_empty_strided new_empty new_zeros new_ones new_full empty_like zeros_like ones_like full_like rand_like randn_like _fused_rms_norm
_fused_rms_norm_backward special_xlog1py special_i0e special_i1 special_i1e special_entr special_erfcx special_ndtr special_ndtri special_log_ndtr
special_zeta div fill_diagonal_ block_diag linalg_pinv _ctc_loss_backward reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
replication_pad2d replication_pad3d reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward
replication_pad2d_backward replication_pad3d_backward max_pool2d_with_indices_backward max_pool3d_with_indices_backward avg_pool2d_backward
avg_pool3d_backward _adaptive_avg_pool2d _adaptive_avg_pool3d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward upsample_nearest1d
upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d upsample_nearest1d_backward
upsample_nearest2d_backward upsample_nearest3d_backward upsample_linear1d_backward upsample_bilinear2d_backward upsample_trilinear3d_backward
upsample_bicubic2d_backward _linalg_det _linalg_slogdet _linalg_solve_ex _cdist_forward _cdist_backward _pdist_forward unique_dim unique_consecutive
_unique2 _conj _conj_physical _neg_view view_as_real _scaled_dot_product_flash_attention_for_cpu_backward hardshrink_backward softshrink_backward
zero_ fill_ copy_ copy normal_ uniform_ bernoulli_ random_ exponential_ index_put_ sym_size sym_stride sym_numel sym_storage_offset is_pinned
record_stream set_ resize_ is_same_size linear matmul reshape contiguous to type_as _reshape_alias split_with_sizes_copy _foreach_add _foreach_add_
_foreach_mul_ dropout native_dropout native_dropout_backward equal _has_compatible_shallow_copy_type is_contiguous size stride sym_is_contiguous
_assert_async squeeze_ unsqueeze_ t_ transpose_ as_strided_ resize_as_ _log_softmax_backward_data _softmax_backward_data rsub requires_grad_
_embedding_bag_backward elu_backward isfinite isreal isclose mish_backward _linalg_check_errors is_complex is_floating_point prelu one_hot
"""


def names() -> set[str]:
    """Return the names of the operators: those of the tables, and MORE."""
    found = set(MORE.split())
    for e in schema.load(ROOT / "ops"):
        own = {e.name, e.public, *(name for _, name in e.python_names)}
        found |= own | ({f"{name}_" for name in own} if "inplace" in e.variants else set())
    return found


def from_torch() -> str:
    """Return the schemas as torch prints them, without the forms with out= and with named dimensions."""
    import torch

    lines = []
    for name in sorted(names()):
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            text = str(getattr(packet, overload)._schema).removeprefix("aten::")
            arguments = text[text.index("(") :]
            written = re.search(r"(?:^|_)out(?:_|$)|grad_input", overload)
            if written or "Dimname" in text or "Stream" in text or "Tensor" not in arguments:
                continue
            lines.append(text)
    return "\n".join(lines) + "\n"


def other_names(schemas: str) -> str:
    """Return the names of torch's operators that have no schema in the text, without those of torch's own tests, other devices and quantization."""
    import torch

    known = {re.split(r"[.(]", line)[0] for line in schemas.splitlines()}
    every = {name.removeprefix("aten::").partition(".")[0] for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    others = re.compile(
        r"_test_|_foobar|(?!_scaled_dot).*(cudnn|miopen|mkldnn|mps|fbgemm|quant|_cufft|nested|qparams|int4pack|cslt|semi_structured)|q_|_foreach_|_fused_"
    )
    return "\n".join(sorted(name for name in every - known if not others.match(name))) + "\n"


def main() -> int:
    text = from_torch()
    TEXT.write_text(text)
    NAMES.write_text(other_names(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
