"""`mps` on a machine without: queries say there is none, seeds do nothing, the rest raises."""

from undertow._no_device import answer, refusal

is_available = answer("is_available", False)
device_count = answer("device_count", 0)
manual_seed = answer("manual_seed", None)
manual_seed_all = answer("manual_seed_all", None)
empty_cache = answer("empty_cache", None)
synchronize = refusal("mps", "synchronize")
current_device = refusal("mps", "current_device")

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]
