"""Starts the processes of a job and watches them, for run.py."""
