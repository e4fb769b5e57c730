"""`torch.mps` without a device: see the table in undertow/_absent_devices.py."""

from undertow._absent_devices import fill

__all__ = fill("mps", globals())
