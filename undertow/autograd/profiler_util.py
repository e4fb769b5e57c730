"""The event classes of a profile, under torch's module name."""

from undertow.autograd._profiler.events import EventList, FunctionEvent, FunctionEventAvg, Interval

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]
