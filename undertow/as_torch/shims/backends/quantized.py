"""Engines for quantized tensors: none."""

engine = "none"
supported_engines: list[str] = ["none"]
