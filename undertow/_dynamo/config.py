"""Options of torch's tracer: they can be set and read."""

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = 256
suppress_errors = False
verbose = False
automatic_dynamic_shapes = True
assume_static_by_default = True
capture_scalar_outputs = False
optimize_ddp = True
