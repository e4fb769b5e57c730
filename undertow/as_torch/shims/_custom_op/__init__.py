"""`torch._custom_op`: an older name of `torch.library`."""

__all__: list[str] = []
