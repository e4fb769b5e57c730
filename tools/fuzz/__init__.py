"""Fuzzers: see README.md."""
