"""The names under which programs import the loader's helpers from torch."""

from undertow.as_torch.shims.utils.data._utils import collate as collate
from undertow.as_torch.shims.utils.data._utils import worker as worker
