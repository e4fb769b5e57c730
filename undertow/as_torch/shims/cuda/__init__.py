"""Names of torch.cuda that are not in undertow.cuda: the modules of this folder."""

__all__: list[str] = []
