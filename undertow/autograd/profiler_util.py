"""What a profile is made of, under torch's name for this module."""

from undertow.autograd._profiler_events import EventList, FunctionEvent, FunctionEventAvg, Interval

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]
