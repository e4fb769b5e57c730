"""What torch.testing has beyond undertow.testing."""

from undertow.as_torch.shims.testing import _utils as _utils

__all__ = ["_utils"]
