"""`torch._ops`: the classes of `torch.ops.aten`, from undertow/_ops.py."""

from undertow._ops import HigherOrderOperator, OperatorBase, OpOverload, OpOverloadPacket

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "OperatorBase"]
