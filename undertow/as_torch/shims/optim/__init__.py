"""What torch.optim has beyond undertow.optim: the modules of this folder."""

__all__: list[str] = []
