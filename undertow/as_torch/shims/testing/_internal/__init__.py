"""The tools that PyTorch's own tests, and those of projects around it, are written with. See README.md."""
