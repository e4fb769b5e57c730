"""Breaks the code in one place at a time and shows which test notices; see README.md. Standard library only."""
