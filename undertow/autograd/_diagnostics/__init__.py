"""Reports about graphs: missing gradients, saved memory, the log of nodes."""
