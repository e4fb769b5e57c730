"""The test tools that PyTorch's tests, and those of related projects, use. See README.md."""
