"""The parts of profiler.py."""
