"""Torch's logging of its own inner life, of which there is none here. See scribe.py."""
