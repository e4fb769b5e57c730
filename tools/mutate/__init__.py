"""Breaks the code in one place at a time and shows which test detects it; see README.md. Standard library only."""
