"""Properties of the machine and the build, by torch's names, and decorators that skip tests based on them. There is never a GPU."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import sys
import unittest

from undertow.as_torch.shims.testing._internal._contexts import suppress_warnings_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _switched(variable: str) -> bool:
    return os.environ.get(variable, "0") == "1"


IS_LINUX = sys.platform == "linux"
IS_MACOS = sys.platform == "darwin"
IS_WINDOWS = sys.platform == "win32"
IS_X86 = platform.machine() in ("x86_64", "AMD64", "i386")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_PPC = platform.processor() == "ppc64le"
IS_S390X = platform.machine() == "s390x"
IS_CI = bool(os.environ.get("CI"))
IS_FBCODE = IS_SANDCASTLE = IS_REMOTE_GPU = IS_JETSON = False
TEST_NUMPY = importlib.util.find_spec("numpy") is not None
TEST_SCIPY = importlib.util.find_spec("scipy") is not None
TEST_NUMBA = importlib.util.find_spec("numba") is not None
TEST_DILL = importlib.util.find_spec("dill") is not None
TEST_OPT_EINSUM = importlib.util.find_spec("opt_einsum") is not None
TEST_WITH_SLOW = _switched("PYTORCH_TEST_WITH_SLOW")
TEST_SKIP_FAST = _switched("PYTORCH_TEST_SKIP_FAST")
TEST_WITH_SLOW_GRADCHECK = _switched("PYTORCH_TEST_WITH_SLOW_GRADCHECK")
TEST_CUDA = TEST_MULTIGPU = TEST_MPS = TEST_XPU = TEST_HPU = TEST_ACCELERATOR = TEST_MULTIACCELERATOR = TEST_PRIVATEUSE1 = False
TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = TEST_WITH_MTIA = TEST_MKL = TEST_CUDA_GRAPH = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_AOT_EAGER = TEST_WITH_CROSSREF = False
TEST_WITHOUT_COMPILED_AUTOGRAD = True
NO_MULTIPROCESSING_SPAWN = False
GRADCHECK_NONDET_TOL = 0.0


def _as_is(thing: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Decorator, with or without arguments, for a condition that never applies: return the function unchanged."""
    if callable(thing) and not args and not kwargs:
        return thing
    return lambda decorated: decorated


skipIfTorchDynamo = skipIfTorchInductor = xfailIfTorchDynamo = skipIfRocm = skipIfMPS = skipIfXpu = skipIfHpu = skipIfCrossRef = _as_is
skipIfNoLapack = skipIfCompiledWithoutNumpy = markDynamoStrictTest = unMarkDynamoStrictTest = skipIfSlowGradcheckEnv = skipIfFreeThreaded = _as_is
skipIfRocmArch = skipIfRocmVersionLessThan = skipCUDAMemoryLeakCheckIf = skipCUDANonDefaultStreamIf = runWithoutCompiledAutograd = _as_is
serialTest = skipIfNNModuleInlined = skipIfLegacyJitExecutor = xfailIfS390X = _as_is
skipIfWindows = unittest.skipIf(IS_WINDOWS, "test doesn't currently work on Windows") if IS_WINDOWS else _as_is
skipIfNoSciPy = unittest.skipIf(not TEST_SCIPY, "test require SciPy, but SciPy not found")
skipIfNoDill = unittest.skipIf(not TEST_DILL, "no dill")
requires_cuda = unittest.skip("Requires CUDA")


def slowTest(test: Callable[..., Any]) -> Callable[..., Any]:
    """Run the test only if PYTORCH_TEST_WITH_SLOW=1."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not TEST_WITH_SLOW:
            raise unittest.SkipTest("test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")
        return test(*args, **kwargs)

    run.slow_test = True  # type: ignore[attr-defined]  # torch's mark
    return run


def slowTestIf(condition: bool) -> Callable[..., Any]:
    return slowTest if condition else _as_is


def xfailIf(condition: bool) -> Callable[..., Any]:
    return unittest.expectedFailure if condition else _as_is


def suppress_warnings(test: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        with suppress_warnings_context():
            return test(*args, **kwargs)

    return run
