"""GPU queries of test files. There is no GPU: every query returns False, and precision decorators have no effect."""

from __future__ import annotations

from undertow.as_torch.shims.testing._internal._environment import TEST_CUDA, TEST_MULTIGPU, _as_is

__all__ = ["TEST_CUDA", "TEST_CUDNN", "TEST_CUDNN_VERSION", "TEST_MAGMA", "TEST_MULTIGPU", "tf32_off", "tf32_on", "tf32_on_and_off", "with_tf32_off"]

TEST_CUDNN = TEST_MAGMA = TEST_CUSPARSE = SM53OrLater = SM60OrLater = SM70OrLater = SM75OrLater = SM80OrLater = SM90OrLater = False
PLATFORM_SUPPORTS_FLASH_ATTENTION = PLATFORM_SUPPORTS_MEM_EFF_ATTENTION = PLATFORM_SUPPORTS_FUSED_ATTENTION = False
TEST_CUDNN_VERSION = 0
tf32_on_and_off = tf32_on = tf32_off = with_tf32_off = _as_is
