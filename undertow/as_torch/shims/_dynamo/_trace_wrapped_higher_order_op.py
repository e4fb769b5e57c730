"""`TransformGetItemToIndex`, the context in which masks are computed with vmap. Undertow does not need it to index with batched numbers."""

from contextlib import nullcontext as TransformGetItemToIndex

__all__ = ["TransformGetItemToIndex"]
