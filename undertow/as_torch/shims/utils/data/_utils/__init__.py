"""The data loader's helpers, under torch's names."""

from undertow.as_torch.shims.utils.data._utils import collate as collate
from undertow.as_torch.shims.utils.data._utils import pin_memory as pin_memory
from undertow.as_torch.shims.utils.data._utils import worker as worker

HAS_NUMPY = True
IS_WINDOWS = False
MP_STATUS_CHECK_INTERVAL = 5.0  # seconds that torch waits between checks that a worker is alive; here its death is noticed at once
python_exit_status = False
