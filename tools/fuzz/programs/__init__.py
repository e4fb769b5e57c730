"""Random programs on tensors, run by Undertow and by PyTorch, or checked by finite differences. See tools/fuzz/README.md."""
