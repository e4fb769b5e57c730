"""What torch.cpu has beyond undertow.cpu: the modules of this folder."""

__all__: list[str] = []
