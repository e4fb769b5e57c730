"""The documentation site: pages of the repository and an API reference, as static HTML."""
