"""The parts of gradcheck.py."""
