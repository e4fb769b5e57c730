"""OpenMP: not used; Undertow has its own thread pool. See `undertow.set_num_threads`."""

from undertow._absent_devices import answer

is_available = answer("is_available", False)
