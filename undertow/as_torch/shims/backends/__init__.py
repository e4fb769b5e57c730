"""Names of torch.backends that are not in undertow.backends: the modules of this folder."""

__all__: list[str] = []
