"""Names of torch.profiler that are not in undertow.profiler: the module of this folder."""

__all__: list[str] = []
