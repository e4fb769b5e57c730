"""Functions of tensors that are written in Python, by family. The package lists them in its __init__.pyi."""
