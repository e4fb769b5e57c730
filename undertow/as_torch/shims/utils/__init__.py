"""What torch.utils has beyond undertow.utils: the modules of this folder."""

__all__: list[str] = []
