"""`torch.utils._dtype_abbrs`: short names of dtypes, as tools print them."""

import undertow

__all__ = ["dtype_abbrs"]

_LETTERS = {"bfloat": "bf", "float": "f", "complex": "c", "int": "i", "uint": "u"}
_SIZES = {"bfloat": (16,), "float": (16, 32, 64), "complex": (32, 64, 128), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64)}
dtype_abbrs = {getattr(undertow, f"{kind}{size}"): f"{_LETTERS[kind]}{size}" for kind, sizes in _SIZES.items() for size in sizes}
dtype_abbrs |= {undertow.bool: "b8", undertow.float8_e4m3fn: "f8e4m3fn", undertow.float8_e5m2: "f8e5m2"}
dtype_abbrs |= {undertow.float8_e4m3fnuz: "f8e4m3fnuz", undertow.float8_e5m2fnuz: "f8e5m2fnuz", undertow.float8_e8m0fnu: "f8e8m0fnu"}
