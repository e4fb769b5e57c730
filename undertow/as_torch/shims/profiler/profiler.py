"""`torch.profiler.profiler`: the names of `torch.profiler`."""

from undertow.profiler import ProfilerAction, profile, schedule, supported_activities, tensorboard_trace_handler

__all__ = ["ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]
