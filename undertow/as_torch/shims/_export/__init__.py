"""`torch._export`: only decorators that other modules of torch use."""
