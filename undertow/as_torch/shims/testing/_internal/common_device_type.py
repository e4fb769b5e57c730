"""Instantiate the tests of a generic class for each requested device and dtype. The only device is the CPU."""

from __future__ import annotations

import unittest
from collections import namedtuple

from undertow.as_torch.shims.testing._internal import _parametrize
from undertow.as_torch.shims.testing._internal._case import TestCase
from undertow.as_torch.shims.testing._internal._environment import _as_is

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PYTORCH_CUDA_MEMCHECK = False
tol = namedtuple("tol", ["atol", "rtol"])


class DeviceTypeTestBase(TestCase):
    """Base class of the instantiated classes."""

    device_type = "generic_device_type"

    @classmethod
    def get_primary_device(cls) -> str:
        return cls.device_type

    @classmethod
    def get_all_devices(cls) -> list[str]:
        return [cls.get_primary_device()]


class CPUTestBase(DeviceTypeTestBase):
    device_type = "cpu"


device_type_test_bases = [CPUTestBase]


def get_all_device_types() -> list[str]:
    return ["cpu"]


class dtypes:
    """`@dtypes(torch.float32, torch.float64)`: create a test for each dtype, or for each tuple of dtypes."""

    def __init__(self, *args: Any, device_type: str = "all") -> None:
        self.args, self.device_type = tuple(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args), device_type

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        test.__dict__.setdefault("dtypes", {})[self.device_type] = self.args
        return test


class dtypesIfCPU(dtypes):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args, device_type="cpu")


dtypesIfCUDA = dtypesIfMPS = dtypesIfXPU = dtypesIfHPU = dtypesIfPRIVATEUSE1 = _as_is


class precisionOverride:
    """`@precisionOverride({torch.float32: 1e-3})`: set the tolerance of assertEqual in tests of that dtype."""

    def __init__(self, d: dict[Any, float]) -> None:
        self.d = d

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        test.precision_overrides = self.d  # type: ignore[attr-defined]  # torch's mark
        return test


class toleranceOverride:
    """`@toleranceOverride({torch.float32: tol(atol=1e-3, rtol=1e-3)})`: set both tolerances of assertEqual."""

    def __init__(self, d: dict[Any, tol]) -> None:
        self.d = d

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        test.tolerance_overrides = self.d  # type: ignore[attr-defined]  # torch's mark
        return test


def _elsewhere(device: str) -> Callable[[Any], Any]:
    return unittest.skip(f"Only runs on {device}")


onlyCPU = onlyNativeDeviceTypes = _as_is
onlyCUDA, onlyMPS, onlyXPU, onlyHPU = (_elsewhere(d) for d in ("cuda", "mps", "xpu", "hpu"))
onlyAccelerator, onlyPRIVATEUSE1 = _elsewhere("an accelerator"), _elsewhere("privateuse1")
expectedFailureCUDA = expectedFailureMPS = expectedFailureXLA = expectedFailureXPU = expectedFailureHPU = expectedFailureMeta = _as_is
expectedFailureCPU = unittest.expectedFailure
skipMeta = skipMPS = skipXLA = skipXPU = skipHPU = skipLazy = disablecuDNN = disableMkldnn = largeTensorTest = _as_is
skipCPUIfNoLapack = skipCPUIfNoMkl = skipCPUIfNoFFT = skipCUDAIfNoMagma = skipCUDAIfRocm = skipCUDAIfNoCudnn = skipCUDAIfNoMagmaAndNoCusolver = _as_is
skipCUDAIf = skipMPSIf = skipXLAIf = skipXPUIf = skipGPUIf = skipCUDAIfNoCusolver = skipCUDAIfNotRocm = skipCUDAVersionIn = _as_is
onlyNativeDeviceTypesAnd = onlyCUDAAndPRIVATEUSE1 = _as_is


def onlyOn(device_type: str | list[str]) -> Callable[[Any], Any]:
    return _as_is if "cpu" in ([device_type] if isinstance(device_type, str) else device_type) else _elsewhere(str(device_type))


def skipCPUIf(dep: bool, reason: str) -> Callable[[Any], Any]:
    return unittest.skipIf(dep, reason)


def deviceCountAtLeast(num_required_devices: int) -> Callable[[Any], Any]:
    """Pass the list of devices to tests that need one device; skip tests that need more."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        test.num_required_devices = num_required_devices  # type: ignore[attr-defined]  # torch's mark
        return test if num_required_devices <= 1 else unittest.skip(f"fewer than {num_required_devices} devices detected")(test)

    return decorate


def _dtype_sets(test: Callable[..., Any]) -> list[Any]:
    noted = getattr(test, "dtypes", {})
    return list(noted.get("cpu", noted.get("all", (None,))))


def _dtype_name(dtype: Any) -> str:
    return "_".join(_dtype_name(d) for d in dtype) if isinstance(dtype, (list, tuple)) else str(dtype).rpartition(".")[2]


def _with_tolerances(test: Callable[..., Any], made: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    precision = getattr(test, "precision_overrides", {}).get(dtype)
    tolerance = getattr(test, "tolerance_overrides", {}).get(dtype)
    if precision is None and tolerance is None:
        return made

    def run(self: Any) -> Any:
        before = self.precision, self.rel_tol
        self.precision, self.rel_tol = tolerance if tolerance is not None else (precision, self.rel_tol)
        try:
            return made(self)
        finally:
            self.precision, self.rel_tol = before

    return run


def instantiate_device_type_tests(
    generic_test_class: type,
    scope: dict[str, Any],
    except_for: Any = None,
    only_for: Any = None,
    include_lazy: bool = False,
    allow_mps: bool = False,
    allow_xpu: bool = False,
    allow_hpu: bool = False,
) -> None:
    """Add `<class>CPU` to the scope, with tests named `<test>_cpu` or `<test>_cpu_<dtype>`, and remove the generic class."""
    scope.pop(generic_test_class.__name__, None)
    wanted = [only_for] if isinstance(only_for, str) else only_for
    unwanted = [except_for] if isinstance(except_for, str) else except_for or []
    if (wanted is not None and "cpu" not in wanted) or "cpu" in unwanted:
        return
    bases = tuple(b for b in generic_test_class.__bases__ if b is not object and not issubclass(CPUTestBase, b))
    made_class = type(f"{generic_test_class.__name__}CPU", (CPUTestBase, *bases), {"__doc__": generic_test_class.__doc__})
    for name, member in vars(generic_test_class).items():
        if name in ("__dict__", "__weakref__", "__doc__", "__module__"):
            continue
        if not name.startswith("test"):
            setattr(made_class, name, member)
            continue
        for ending, arguments, decorators in _parametrize.combinations(member):
            for dtype in _dtype_sets(member):
                device = ["cpu"] if getattr(member, "num_required_devices", 0) else "cpu"
                first = "devices" if isinstance(device, list) else "device"
                given = {first: device, **({} if dtype is None else {"dtypes" if isinstance(dtype, (list, tuple)) else "dtype": dtype}), **arguments}
                made = _with_tolerances(member, _parametrize.bound(member, given), dtype)
                for decorator in decorators:
                    made = decorator(made)
                parts = [name, ending, "cpu", "" if dtype is None else _dtype_name(dtype)]
                made.__name__ = "_".join(p for p in parts if p)
                setattr(made_class, made.__name__, made)
    made_class.__module__ = scope.get("__name__", generic_test_class.__module__)
    scope[made_class.__name__] = made_class
