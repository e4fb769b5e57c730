"""The data loader's helpers, under torch's names."""

from undertow.as_torch.shims.utils.data._utils import collate as collate
from undertow.as_torch.shims.utils.data._utils import worker as worker
