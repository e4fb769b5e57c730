"""`torch.utils.deterministic`: whether uninitialised memory is filled. The setting has no effect."""

fill_uninitialized_memory = True
