"""The schemas of torch's operators that Undertow names; see __main__.py."""
