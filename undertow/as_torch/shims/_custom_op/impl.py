"""`torch._custom_op.impl`: what test files read of it; operators are made with `torch.library.custom_op`."""

from undertow._library._infer import infer_schema
from undertow.library import _split as parse_qualname
from undertow.library import get_ctx

__all__ = ["get_ctx", "global_registry", "infer_schema", "parse_qualname"]

global_registry: dict[str, object] = {}  # operators made by this module's own functions, of which there are none
