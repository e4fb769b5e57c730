"""Names of torch.testing that are not in undertow.testing."""

from undertow.as_torch.shims.testing import _utils as _utils

__all__ = ["_utils"]
