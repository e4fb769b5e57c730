"""Which names of torch published packages use, and which of them `undertow.as_torch` has; see README.md."""
