"""Information about a worker process."""

from undertow.utils.data import get_worker_info as get_worker_info
