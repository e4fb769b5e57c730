"""What of nn.functional is written in Python, by family; functional.py publishes it."""
