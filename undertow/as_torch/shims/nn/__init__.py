"""What torch.nn has beyond undertow.nn."""

__all__: list[str] = []
