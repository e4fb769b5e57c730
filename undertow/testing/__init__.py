"""What tests of numerical code need: comparing tensors, and making them."""

from undertow.testing import _utils  # noqa: F401 - reached as an attribute
from undertow.testing._comparison import assert_close
from undertow.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
