"""Names of torch.optim that are not in undertow.optim: the modules of this folder."""

__all__: list[str] = []
