"""Apple GPUs: not supported."""

from undertow._absent_devices import answer

is_available = answer("is_available", False)
is_built = answer("is_built", False)
is_macos_or_newer = answer("is_macos_or_newer", False)
