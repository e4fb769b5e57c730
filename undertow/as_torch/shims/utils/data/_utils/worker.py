"""What a worker process knows of itself."""

from undertow.utils.data import get_worker_info as get_worker_info
