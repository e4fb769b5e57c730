"""Names of torch.nn that are not in undertow.nn."""

__all__: list[str] = []
