"""What torch.cuda has beyond undertow.cuda: the modules of this folder."""

__all__: list[str] = []
