"""Speed and memory of Undertow compared with PyTorch and NumPy: `python -m bench`. See README.md in this folder."""
