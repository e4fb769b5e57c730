"""Telemetry of torch's tools for failed tests. Nothing is sent."""

from __future__ import annotations


def open_source_signpost(subsystem: str, name: str, parameters: str) -> None:
    """Do nothing."""
