"""The functions of nn.functional that are written in Python, by family; functional.py exports them."""
