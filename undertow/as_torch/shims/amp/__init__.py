"""Names of torch.amp that are not in undertow.amp: the modules of this folder."""

__all__: list[str] = []
