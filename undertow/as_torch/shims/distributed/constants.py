"""`torch.distributed.constants`: the timeout of process groups."""

from undertow.distributed._groups.groups import default_pg_timeout

__all__ = ["default_pg_timeout"]
