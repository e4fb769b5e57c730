"""Names of torch.distributions that are not in undertow.distributions: the modules of this folder."""

__all__: list[str] = []
