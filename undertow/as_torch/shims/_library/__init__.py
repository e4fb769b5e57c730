"""`torch._library`: the modules behind `torch.library`, by their private names."""

__all__: list[str] = []
