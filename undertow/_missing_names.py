"""Names that torch has and Undertow does not have: whether each is planned, and if not, why.

Used only for error messages, when an attribute or a module is missing.
"""

from __future__ import annotations

import functools
import re

CUDA = "not planned: undertow.cuda has devices, streams, memory, random numbers and graphs; see docs/cuda.md"
COMPILED = "not planned: there is no compiler and no graph representation; programs run eagerly, as they are written"
SPARSE = "not planned: a rarely used function of sparse tensors; undertow.sparse has the common ones"
QUANTIZED = "not planned: no quantized dtypes or kernels"
DISTRIBUTED = "planned: more of torch.distributed; collectives, stores, DistributedDataParallel, fully_shard and pipelines exist"
PARTS = "not planned: the part that a process has of a tensor is an ordinary tensor, with placements, device_mesh, to_local and full_tensor"
VENDOR = "not planned: a function of a vendor's library; use the public operator of the same name without the prefix"
SYMBOLIC = "not planned: shapes are numbers; nothing is traced symbolically"
OTHER_DEVICE = "not planned: a device other than CPU and CUDA"
COPIES = "not planned: the operator without _copy, followed by clone(), does the same"
NARROW = "not planned: no dtype below eight bits, no quantized ones"
LAYERS = "planned: rarely used layer functions; torch.nn and torch.nn.functional have the common ones"
NAMED = "not planned: named dimensions"
NESTED = "not planned: tensors of ragged shapes; see torch.nn.utils.rnn for packed sequences"
TESTS = "not planned: of torch's own test utilities, only common_utils, common_device_type, common_dtype and common_cuda exist"
INTERNAL = "not planned: torch's internals have no counterpart here"
STORAGES = "not planned: storages have one class, UntypedStorage, seen by elements as TypedStorage"
PIPES = "not planned: data pipes, which torch no longer develops; use Dataset, IterableDataset and DataLoader"
FOREIGN = "not planned: a part of torch's C++ that is visible by accident"
FILES = "not planned: files of torch.save and safetensors are written in one way, on little-endian machines"
PROFILES = "not planned: internals of torch's profilers; use torch.profiler.profile and torch.autograd.profiler.profile"
LEGACY = "not planned: torch's oldest constructors, one class for each dtype; use tensor(data, dtype=...) or empty(sizes, dtype=...)"
LIBRARIES = "not planned: switches of libraries that Undertow does not use"
BUILD = "not planned: flags of torch's build; __config__.show() says how Undertow was built"
ONE_PLACE = "not planned: a second name; its functions are in the package itself"
MIXED_PRECISION = "not planned: the older names of mixed precision; use torch.amp.autocast and torch.amp.GradScaler"
RETURNS = "not planned: the result types of operators that do not exist here"
OVERRIDES = "not planned: machinery of torch's own tests"
TOOLS = "not planned: tools for torch's own build, backends and C++"
REMOVED = "not planned: torch has removed it; torch.linalg has its successor"

# The first pattern that matches the whole dotted name, or a prefix of it that ends before a dot, is used. A module that
# Undertow has is listed with the names it lacks, never alone, so that a misspelled name is not taken for one of torch's.
REASONS: tuple[tuple[str, str], ...] = (
    (r"torch\.testing\._internal", TESTS),
    (r"torch\.(jit|fx|export|onnx|package|_dynamo|_inductor|_export|compiler|classes|_ops)", COMPILED),
    (r"torch\.library\.(triton_op|wrap_triton|\w*Tag|Dispatch\w*|CustomOpsLibrary)", COMPILED),
    (r"torch\.compile", COMPILED),
    (r"torch\.(Bool|Byte|Char|Short|Int|Long|Half|BFloat16|Float|Double)Tensor", LEGACY),
    (r"torch\.has_\w+", BUILD),
    (r"torch\.(functional|utils\.model_zoo|torch_version)", ONE_PLACE),
    (r"torch\.(cuda|cpu)\.amp", MIXED_PRECISION),
    (r"torch\.(is_vulkan_available|set_anomaly_enabled)", FOREIGN),
    (r"torch\.(utils\.)?(mobile_optimizer|bundled_inputs|bottleneck|jit|mkldnn|_sympy|_triton)", COMPILED),
    (r"torch\.(Script\w*|CompilationUnit|Graph|Block|Code|parse_ir|import_ir_module\w*|StaticModule|Tracing\w*|FunctionSchema|\w+Type)", COMPILED),
    (r"torch\.(fork|wait|Future|cond|while_loop|merge_type_from_type_comment|parse_\w+|unify_type_list)", COMPILED),
    (r"torch\.serialization\.(\w*(endianness|Endianness|mmap_options|crc32_options)|normalize_storage_type|StorageType)", FILES),
    (r"torch\.serialization\.(SourceChangeWarning|check_module_version_\w+|mkdtemp|register_package|skip_data|validate_(cuda|hpu)_device)", FILES),
    (r"torch\.serialization\.storage_to_tensor_type", FILES),
    (r"torch\.profiler\.(DeviceType|ExecutionTraceObserver|KinetoStepTracker|RecordScope|profiler)", PROFILES),
    (r"torch\.autograd\.profiler(_util)?\.(EnforceUnique|EventMetadata|FormattedTimesMixin)", PROFILES),
    (r"torch\.autograd\.profiler(_util)?\.(Kernel|KinetoStepTracker|MemRecordsAcc|StringTable)", PROFILES),
    (r"torch\.autograd\.(profiler_legacy|DeviceType|Profiler\w+|kineto_available)", PROFILES),
    (r"torch\.cuda\.(\w+(Storage|Tensor|Error)|caching_allocator_(disabled|enable)|cudart|cudaStatus)", CUDA),
    (r"torch\.cuda\.(\w+_host_memory_stats|host_memory_stats_\w+)", CUDA),
    (r"torch\.cuda\.(CUDAPluggableAllocator|GreenContext|MemPool|change_current_allocator|check_error|current_solver_handle)", CUDA),
    (r"torch\.cuda\.(current_blas_handle|DEVICE_REQUIREMENT|PYTORCH_RELEASES_CODE_CC)", CUDA),
    (r"torch\.cuda\.(comm|gds|green_contexts|jiterator|nccl|nvtx|profiler|sparse|tunable|use_mem_pool)", CUDA),
    (r"torch\.(Stream|Event|get_device_module|accelerator\.(Graph|empty_host_cache))", CUDA),
    (r"torch\.(mps|mtia|xpu|maia|hpu|xla|vulkan|Tensor\.(xpu|mtia|ipu|is_\w+))", OTHER_DEVICE),
    (r"torch\.distributed\.(_\w+\.)?tensor\.(\w+\.)*DTensor\w*", PARTS),
    (r"torch\.(distributed\w*|_C\._distributed\w*|nn\.parallel|nn\.SyncBatchNorm|monitor)", DISTRIBUTED),
    (r"torch\.(nn\.)?(ao|quantization|quantized\w*|quantizable|intrinsic|qat)", QUANTIZED),
    (r"torch\.(Tensor\.)?(q_\w+|quantize_\w+|dequantize|int_repr|qint\w+|quint\w+|qscheme|per_(channel|tensor)\w*|fake_quant\w*)", QUANTIZED),
    (r"torch\.(fbgemm_\w+|QU?Int\w+|choose_qparams\w*|empty_quantized|fused_moving_avg\w+)", QUANTIZED),
    (r"torch\.sparse\.\w+Tensor", "not planned: constructors from before sparse_coo_tensor, which replaces them; they exist under as_torch"),
    (r"torch\.sparse\.(SparseSemiStructured\w*|semi_structured|to_sparse_semi_structured|solve|bool|\w+_out)", SPARSE),
    (r"torch\.(cudnn|miopen|mkldnn)_\w+", VENDOR),
    (r"torch\.(Tensor\.)?(to_mkldnn|is_mkldnn)", VENDOR),
    (r"torch\.(sym_\w+|Sym\w+)", SYMBOLIC),
    (r"torch\.\w+_copy", COPIES),
    (r"torch\.(Tensor\.)?(float4\w*|bits\w*|uint[1-7]|int[1-7])", NARROW),
    (r"torch\.(nested|jagged)", NESTED),
    (r"torch\.nn\.(backends|cpp)", FOREIGN),
    (r"torch\.nn\.attention\.(SDPAParams|WARN_FOR_UNFUSED_KERNELS|can_use_\w+|\w+_flash_attention_impls?)", FOREIGN),
    (r"torch\.nn\.modules\.(linear_cross_entropy_options|\w+\.(NonDynamically\w+|LinearCrossEntropyOptions|BackwardHook|\w+_notes))", FOREIGN),
    (r"torch\.(cpu\.get_capabilities|multiprocessing\.(SpawnContext|pool|queue|reductions)|amp\.autocast_mode\.autocast_decorator)", FOREIGN),
    (r"torch\.autograd\.gradcheck\.get_(analytical|numerical)_jacobian\w*", FOREIGN),
    (r"torch\.nn\.functional\.conv_tbc", ONE_PLACE),
    (r"torch\.nn\.functional\.(GRID_\w+|has_torch_function\w*|native_channel_shuffle|\w+_notes|torch)", FOREIGN),
    (r"torch\.(Tensor\.)?(names|align_to|align_as|refine_names|rename_?|align_tensors)", NAMED),
    (r"torch\.(Tensor\.)?(symeig|eig|lstsq|solve|matrix_rank)", REMOVED),
    (r"torch\.\w*Storage(Base)?", STORAGES),
    (r"torch\.optim\.swap_in_optimizer_params_and_state", INTERNAL),
    (r"torch\.utils\.data\.(\w+DataPipe|DataChunk|datapipes|functional_datapipe|graph|graph_settings|guaranteed_datapipes_determinism)", PIPES),
    (r"torch\.utils\.data\.(argument_validation|non_deterministic|runtime_validation(_disabled)?|backward_compatibility)", PIPES),
    (r"torch\.masked", "not planned: masked tensors"),
    (r"torch\.(AVG|SUM|TYPE_CHECKING|AliasDb|Argument\w*|Benchmark\w*|CallStack|Capsule|CompleteArgumentSpec|Concrete\w*)", FOREIGN),
    (r"torch\.(DeepCopyMemoTable|\w+StorageContext|DispatchKey\w*|ErrorReport|ExcludeDispatchKeyGuard|ExecutionPlan|FatalError|FileCheck)", FOREIGN),
    (r"torch\.(Gradient|GraphExecutorState|IODescriptor|JITException|LiteScriptModule|\w*Logger\w*|Node|OperatorInfo|PRIVATE_OPS)", FOREIGN),
    (r"torch\.(PyTorchFile\w+|ThroughputBenchmark|Type|USE_\w+|Use|Value|(Buffer|Module|Parameter)Dict|cpp|bit|classproperty)", FOREIGN),
    (r"torch\.(init_num_threads|native_channel_shuffle|prepare_multiprocessing\w+|profiler_allow\w+|thread_safe_generator|torch\w*)", FOREIGN),
    (r"torch\.(batch_norm_\w+|affine_grid_generator|windows|autocast_\w+_nesting|legacy_contiguous_format|get_file_path|is_distributed)", FOREIGN),
    (r"torch\.ops", "not planned: torch.ops has aten, with the operators that dispatch modes see, and the operators created with torch.library"),
    (r"torch\.return_types\.(\w+_out|linalg_ldl_factor\w*|linalg_solve_ex|lu_unpack|triangular_solve)", RETURNS),
    (r"torch\.return_types\.(all_return_types|pytree_register_structseq|SequenceKey)", RETURNS),
    (r"torch\.(random\.thread_safe_generator|linalg\.common_notes|utils\.checkpoint\.SAC_IGNORED_OPS|testing\.FileCheck)", FOREIGN),
    (r"torch\.(Tensor\.)?(hash_tensor|slice_inverse)", FOREIGN),
    (r"torch\.Tensor\.(const_data_ptr|index|map2_|reinforce|resize(_as)?(_sparse_)?|to_padded_tensor|volatile)", FOREIGN),
    (r"torch\.(set|clear|is|get)_autocast_\w+", "not planned: use `with torch.autocast` to enable autocast"),
    (r"torch\.autograd\.graph\.(region_\w+|set_\w+)", CUDA),
    (r"torch\.autograd\.profiler\.(load_nvprof|parse_nvprof_trace)", "not planned: reports of CUDA's profilers"),
    (r"torch\.backends\.(m|mha|miopen|mkl|mkldnn|mps|nnpack|openmp|opt_einsum|python_native|quantized|xeon|xnnpack)", LIBRARIES),
    (r"torch\.backends\.(cpu\.get_cpu_capability|cuda\.\w+|cudnn\.\w+|cusparselt|kleidiai)", LIBRARIES),
    (r"torch\.overrides\.(get_testing_overrides|redispatch_function)", OVERRIDES),
    (r"torch\.testing\.assert_allclose", "not planned: torch has removed it; torch.testing.assert_close is its successor"),
    (r"torch\.utils\.(ThroughputBenchmark|throughput_benchmark|backcompat|backend_registration|cmake_prefix_path|(get_)?cpp_backtrace|torch)", TOOLS),
    (r"torch\.utils\.(\w+_privateuse1_backend|hipify|model_dump|viz|serialization|show_pickle|file_baton|strobelight)", TOOLS),
    (r"torch\.utils\.benchmark\.(Callgrind\w+|CopyIfCallgrind|FunctionCounts?|Fuzz\w+|ParameterAlias|torch|utils|op_fuzzers|examples)", TOOLS),
    (r"torch\.utils\.cpp_extension\.\w+", "not planned: building extensions for GPUs and for Windows"),
    (r"torch\.(hub\.HASH_REGEX|serialization\.DEFAULT_PROTOCOL|amp\.grad_scaler\.OptState)", FOREIGN),
    (r"torch\.(utils\.swap_tensors|backends\.fp32_precision|(utils\.model_zoo|hub)\.tqdm)", INTERNAL),
    (r"torch\.nn\.functional\.(ScalingType|grouped_mm|scaled_mm|SwizzleType|scaled_grouped_mm)", QUANTIZED),
    (r"torch\.utils\.(debug_log|flop_counter\.register_flop_formula|hooks\.BackwardHook)", TOOLS),
    (r"torch\.(special\.(common_args|multi_dim_common)|(quasirandom|nn\.grad|nn\.utils\.prune)\.torch)", FOREIGN),
    (r"torch\.native_norm", LAYERS),
    (r"torch\.(\w+\.)*_\w*", INTERNAL),
)
_PATTERNS = tuple((re.compile(pattern + r"(?:\.|$)"), reason) for pattern, reason in REASONS)


@functools.lru_cache(maxsize=4096)  # a test of a missing name (`hasattr`, `getattr` with a default) formats the error's text too
def reason(name: str) -> str:
    """Return whether a dotted torch name is planned, or why it is not.

    >>> from undertow._missing_names import reason
    >>> reason("torch.native_norm")
    'planned: rarely used layer functions; torch.nn and torch.nn.functional have the common ones'
    """
    for pattern, why in _PATTERNS:
        if pattern.match(name):
            return why
    return "torch 2.13 has no public name like it; see docs/from_pytorch.md for what is planned"


@functools.lru_cache(maxsize=4096)
def is_torchs(name: str) -> bool:
    """Return True if the table has an entry for the name."""
    return any(pattern.match(name) for pattern, _ in _PATTERNS)


def sentence(name: str) -> str:
    """Return the error message for a missing name."""
    return f"{name} is not in Undertow: {reason(name)}"


def native_sentence(module: str, name: str) -> str | None:
    """Return the message for a name missing from an Undertow module, or None if torch does not have it either.

    >>> from undertow._missing_names import native_sentence
    >>> native_sentence("undertow", "quantize_per_tensor")
    'undertow.quantize_per_tensor is not in Undertow: not planned: no quantized dtypes or kernels'
    """
    known = f"torch{module.removeprefix('undertow')}.{name}"
    if not is_torchs(known):
        return None
    return f"{module}.{name} is not in Undertow: {reason(known).replace('torch.', 'undertow.')}"
