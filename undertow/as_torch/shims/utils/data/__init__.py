"""Names of torch.utils.data that are not in undertow.utils.data: the modules of this folder."""

from undertow.as_torch.shims.utils.data import _utils

__all__ = ["_utils"]
