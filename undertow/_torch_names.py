"""Names of torch that no program written for Undertow needs; they move to as_torch."""

from __future__ import annotations

_DEVICES = ("accelerator", "amp", "backends", "cpu", "cuda", "mps", "mtia", "xpu")
_PROGRAMS = ("compiler", "distributed", "distributions", "functional", "hub", "jit", "library", "multiprocessing", "ops", "return_types")
_MATHEMATICS = ("_VF", "array_api", "fft", "func", "linalg", "masked", "nn", "optim", "quasirandom", "random", "signal", "special")
_TOOLS = ("overrides", "profiler", "serialization", "storage", "testing", "torch_version", "train", "types", "utils", "version")
_MODULES = (*_DEVICES, *_PROGRAMS, *_MATHEMATICS, *_TOOLS)
_VIEWS = [
    "alias", "as_strided", "detach", "expand", "permute", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose",
    "unbind", "unfold", "unsqueeze", "view",
]  # fmt: skip
_VIEWS += ["view_as_complex", "view_as_real"]
_LAZY = {
    "TypedStorage": "storage",
    "finfo": "_type_info",
    "get_rng_state": "random",
    "iinfo": "_type_info",
    "typename": "_type_info",
    "initial_seed": "random",
    "manual_seed": "random",
    "seed": "random",
    "load": "serialization",
    "from_torch": "_torch_bridge",
    "to_torch": "_torch_bridge",
    "save": "serialization",
    "set_rng_state": "random",
    "vmap": "_vmap",
    "compile": "compiler",
    **dict.fromkeys(("adaptive_max_pool1d", "empty_permuted", "frobenius_norm", "norm_except_dim", "nuclear_norm", "vander"), "_rare"),
    **dict.fromkeys(("addmv_", "detach_", "index_put_", "resize_as_", "set_anomaly_enabled", "to_dlpack"), "_rare"),
    **dict.fromkeys(("conv_tbc", "embedding_renorm_", "get_device_module", "is_vulkan_available", "lu", "segment_reduce"), "_rare"),
    **dict.fromkeys(("set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_enabled"), "amp._switches"),
    "DisableTorchFunction": "overrides",
    "DisableTorchFunctionSubclass": "overrides",
    "GradScaler": "amp",
    "OutOfMemoryError": "cuda",
    **dict.fromkeys(("autocast", "get_autocast_dtype", "is_autocast_enabled"), "amp.autocast_mode"),
    **dict.fromkeys(("clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled"), "amp._switches"),
    **dict.fromkeys(("is_autocast_cpu_enabled", "set_autocast_cache_enabled", "set_autocast_dtype"), "amp._switches"),
    **dict.fromkeys(("pca_lowrank", "svd_lowrank"), "_lowrank"),
    **dict.fromkeys(("are_deterministic_algorithms_enabled", "use_deterministic_algorithms", "compiled_with_cxx11_abi"), "_settings"),
    **dict.fromkeys(("get_default_device", "set_default_device", "set_default_tensor_type", "set_flush_denormal"), "_settings"),
    **dict.fromkeys(("get_deterministic_debug_mode", "set_deterministic_debug_mode", "is_warn_always_enabled", "set_warn_always"), "_settings"),
    **dict.fromkeys(("get_float32_matmul_precision", "set_float32_matmul_precision"), "_settings"),
    **dict.fromkeys(("get_num_interop_threads", "set_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled"), "_settings"),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors"), "_shape"),
    **dict.fromkeys(("corrcoef", "cov", "gradient"), "_statistics"),
    **dict.fromkeys(("histogram", "histogramdd"), "_histogram"),
    **{f"{kind}dropout{end}": "nn._dropout_core" for kind in ("", "alpha_", "feature_", "feature_alpha_") for end in ("", "_")},
    **dict.fromkeys(("rrelu", "rrelu_"), "nn._dropout"),
    **dict.fromkeys(("bilinear", "cosine_embedding_loss", "ctc_loss", "hinge_embedding_loss", "kl_div"), "nn._plain_losses"),
    **dict.fromkeys(("margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss"), "nn._plain_losses"),
    **dict.fromkeys(("channel_shuffle", "pixel_shuffle", "pixel_unshuffle"), "nn._shuffle"),
    **dict.fromkeys(("affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), "nn._grid_sample"),
    **dict.fromkeys(("adaptive_avg_pool1d", "avg_pool1d"), "nn._pooling"),
    **dict.fromkeys(("max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d"), "nn._pooling"),
    **dict.fromkeys(("istft", "stft"), "_spectrogram"),
    **dict.fromkeys(("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"), "_windows"),
    **dict.fromkeys(("gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"), "_recurrent"),
    **dict.fromkeys(("unique", "unique_consecutive"), "_unique"),
    "_shape_as_tensor": "_checks",
    **dict.fromkeys(("cartesian_prod", "combinations", "meshgrid"), "_shape"),
    **dict.fromkeys(("segment_reduce", "_segment_reduce"), "_segments"),
    "lu": "_inside",
    **dict.fromkeys(("_chunk_cat", "_native_batch_norm_legit", "_batch_norm_with_update", "_upsample_bilinear2d_aa"), "_inside"),
    **dict.fromkeys(("_unsafe_masked_index", "_unsafe_masked_index_put_accumulate"), "_inside"),
    **{f"{view}_copy": "_copies" for view in _VIEWS},
}


def find(name: str) -> object:
    """The value of `torch.name`, where Undertow has it only for programs written for torch."""
    from importlib import import_module

    if name in _MODULES:
        try:
            return import_module(f"undertow.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"undertow.{name}":
                raise
    if name in _LAZY:
        value = getattr(import_module(f"undertow.{_LAZY[name]}"), name)
        return value
    if name.startswith(("_foreach_", "_check", "_assert")):
        home = import_module("undertow._foreach" if name[1] == "f" else "undertow._checks")
        if hasattr(home, name):
            return getattr(home, name)
    if name.endswith("Tensor"):
        legacy = import_module("undertow._legacy")
        if hasattr(legacy, name):
            return getattr(legacy, name)
    raise AttributeError(f"module 'undertow' has no attribute {name!r}")
