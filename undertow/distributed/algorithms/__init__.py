"""Algorithms above the collectives: communication hooks of DistributedDataParallel."""
