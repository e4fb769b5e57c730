"""The supported part of functorch.experimental."""

from undertow.func import functionalize, jvp, replace_all_batch_norm_modules_

__all__ = ["functionalize", "jvp", "replace_all_batch_norm_modules_"]
