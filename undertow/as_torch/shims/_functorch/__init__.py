"""The older names of `undertow.func`: names that programs import from functorch (_package.py) and torch._functorch."""
