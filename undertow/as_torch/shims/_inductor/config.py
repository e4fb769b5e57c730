"""Options of torch's code generator: they can be set and read, and have no effect."""

from types import SimpleNamespace

coordinate_descent_tuning = False
fx_graph_cache = True
max_autotune = False
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
use_mixed_mm = False
triton = SimpleNamespace(unique_kernel_names=True, cudagraphs=False)
cpp = SimpleNamespace(threads=-1, simdlen=None)
