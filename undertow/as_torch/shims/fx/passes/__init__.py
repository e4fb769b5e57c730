"""`torch.fx.passes`: analyses of graphs."""
