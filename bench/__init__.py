"""Speed and memory of Undertow beside PyTorch and NumPy: `python -m bench`. See README.md in this folder."""
