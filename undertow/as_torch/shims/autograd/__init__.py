"""Names of torch.autograd that are not in undertow.autograd: the modules of this folder."""

__all__: list[str] = []
