"""Pipelines: each process has some layers of a model, and passes activations and gradients of small parts of a batch on."""

from undertow.distributed.pipelining.schedules import Schedule1F1B, ScheduleGPipe
from undertow.distributed.pipelining.stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe"]
