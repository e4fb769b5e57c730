"""What `torch.distributed` has beyond `undertow.distributed`."""

__all__: list[str] = []
