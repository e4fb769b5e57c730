"""torch's internal logging, which has no effect here. See scribe.py."""
