"""`torch._custom_op.impl`: what test files read of it; operators are made with `torch.library.custom_op`."""

from __future__ import annotations

import undertow
from undertow._library._infer import infer_schema
from undertow.library import _split as parse_qualname
from undertow.library import get_ctx

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["get_ctx", "get_op", "global_registry", "infer_schema", "parse_qualname"]

global_registry: dict[str, object] = {}  # operators made by this module's own functions, of which there are none


def get_op(qualname: str) -> Any:
    """Return the default overload of the operator `namespace::name`."""
    namespace, name = parse_qualname(qualname)
    try:
        return getattr(getattr(undertow.ops, namespace), name).default
    except AttributeError:
        advice = "Please make sure you have already registered the operator and (if registered from C++) loaded it via torch.ops.load_library."
        raise ValueError(f"Could not find the operator {qualname}. {advice}") from None
