"""Names of torch.nn.modules that are not in undertow.nn.modules: the modules of this folder."""

__all__: list[str] = []
