"""`torch.accelerator` without an accelerator: see the table in undertow/_absent_devices.py."""

from undertow._absent_devices import fill

__all__ = fill("accelerator", globals())
