"""The parts of functional.py."""
