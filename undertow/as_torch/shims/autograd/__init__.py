"""What torch.autograd has beyond undertow.autograd: the modules of this folder."""

__all__: list[str] = []
