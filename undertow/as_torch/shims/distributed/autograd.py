"""`torch.distributed.autograd`: backward passes over several processes are not supported."""


def is_available() -> bool:
    """Return False."""
    return False


__all__ = ["is_available"]
