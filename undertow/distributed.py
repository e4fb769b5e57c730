"""`distributed`, as torch has it when built without: one question, and the answer is no."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: training over several processes is not here yet."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False
