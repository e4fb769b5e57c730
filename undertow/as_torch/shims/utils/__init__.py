"""Names of torch.utils that are not in undertow.utils: the modules of this folder."""

__all__: list[str] = []
