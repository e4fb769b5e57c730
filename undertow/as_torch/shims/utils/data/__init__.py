"""What torch.utils.data has beyond undertow.utils.data: the modules of this folder."""

__all__: list[str] = []
