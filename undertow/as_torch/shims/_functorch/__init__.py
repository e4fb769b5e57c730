"""The older names of `undertow.func`: what programs import from functorch (_package.py) and torch._functorch."""
