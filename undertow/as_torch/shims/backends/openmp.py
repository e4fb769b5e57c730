"""OpenMP: not here; a thread pool of our own does its work. See `undertow.set_num_threads`."""

from undertow._absent_devices import answer

is_available = answer("is_available", False)
