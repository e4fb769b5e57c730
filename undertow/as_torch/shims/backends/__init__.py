"""What torch.backends has beyond undertow.backends: the modules of this folder."""

__all__: list[str] = []
