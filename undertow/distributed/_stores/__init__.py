"""Stores of keys and values that processes share: in one process, in a file, over TCP."""
