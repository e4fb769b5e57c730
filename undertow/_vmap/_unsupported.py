"""Operators that no rule can support: Python numbers, and results whose shape differs between samples."""

from __future__ import annotations

from undertow._vmap._dispatch import rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


@rule("item")
def item(op: Operator, level: Level, args: list[Any]) -> Any:
    raise RuntimeError(
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
        ".item() on a Tensor, please try to rewrite what you're doing with other operations: the number "
        "differs between samples"
    )


@rule("dynamic")
def dynamic(op: Operator, level: Level, args: list[Any]) -> Any:
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
        f"over {op.public.strip('_')}: every sample would have its own shape"
    )


@rule("unsupported")
def unsupported(op: Operator, level: Level, args: list[Any]) -> Any:
    raise RuntimeError(
        f"vmap over undertow.{op.public} isn't supported: its truth value differs between samples"
    )
