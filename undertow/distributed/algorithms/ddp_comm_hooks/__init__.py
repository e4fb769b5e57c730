"""Communication hooks of DistributedDataParallel: how the gradients of a bucket are reduced."""
