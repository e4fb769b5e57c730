"""`torch.utils.deterministic`: whether memory that was not written is filled, which here it never needs to be."""

fill_uninitialized_memory = True
