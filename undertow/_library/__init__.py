"""Operators that programs define with `undertow.library`: what is registered for them, and the order in which a call uses it."""
