"""`torch.distributed.rpc`: remote procedure calls are not supported."""


def is_available() -> bool:
    """Return False."""
    return False


__all__ = ["is_available"]
