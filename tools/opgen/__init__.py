"""opgen: reads the operator tables in ops/ and writes nodes, recorders, kernels, bindings and stubs. Standard library only."""
