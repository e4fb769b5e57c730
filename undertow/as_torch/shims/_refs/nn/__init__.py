"""`torch._refs.nn`, for its `functional`."""
