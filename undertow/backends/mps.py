"""Apple's GPUs: not here."""

from undertow._no_device import answer

is_available = answer("is_available", False)
is_built = answer("is_built", False)
is_macos_or_newer = answer("is_macos_or_newer", False)
