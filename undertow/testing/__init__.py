"""What tests of numerical code need: comparing tensors, and making them."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.testing._comparison import assert_close
from undertow.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]

__getattr__ = _explain_missing(__name__)
