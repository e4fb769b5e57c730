"""Names of torch.cpu that are not in undertow.cpu: the modules of this folder."""

__all__: list[str] = []
