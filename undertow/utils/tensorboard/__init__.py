"""Events for TensorBoard, like torch.utils.tensorboard: written by the `tensorboard` package, which must be installed."""

from undertow.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
