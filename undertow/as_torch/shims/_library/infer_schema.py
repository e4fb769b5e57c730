"""`torch._library.infer_schema`: schemas from annotations."""

from undertow._library._infer import infer_schema

__all__ = ["infer_schema"]
