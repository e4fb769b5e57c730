"""__torch_function__: classes and modes that take over operators."""
