"""torch's functions that move tensors and objects between the processes of a group."""
