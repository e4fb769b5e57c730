"""Batch normalisation under vmap, by the name of torch's file of it."""

from undertow.func import replace_all_batch_norm_modules_

__all__ = ["replace_all_batch_norm_modules_"]
