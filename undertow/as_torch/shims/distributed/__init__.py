"""Names of `torch.distributed` that are not in `undertow.distributed`."""

__all__: list[str] = []
