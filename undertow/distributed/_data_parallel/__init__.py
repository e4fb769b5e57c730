"""What DistributedDataParallel and SyncBatchNorm do between processes."""
