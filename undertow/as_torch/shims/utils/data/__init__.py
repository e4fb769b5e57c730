"""Names of torch.utils.data that are not in undertow.utils.data: the modules of this folder."""

__all__: list[str] = []
