"""Export of profiles: Chrome's trace format, and folded stacks for flame graphs."""

from __future__ import annotations

from undertow._ranks import rank_and_size, with_rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.autograd._profiler.events import EventList, FunctionEvent


def _slice(event: FunctionEvent, pid: int) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": event.id}
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
    if event.fwd_thread:
        args["Fwd thread id"] = event.fwd_thread
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    if event.cpu_memory_usage:
        args["Bytes"] = event.cpu_memory_usage
    category = "user_annotation" if event.is_user_annotation else "cpu_op"
    start = event.time_range.start
    return {"ph": "X", "cat": category, "name": event.name, "pid": pid, "tid": event.thread, "ts": start, "dur": event.cpu_time_total, "args": args}


def _arrow(event: FunctionEvent, forward: FunctionEvent, pid: int) -> list[dict[str, Any]]:
    """Return the arrow from a forward operation to its backward node."""
    common = {"cat": "fwdbwd", "name": "fwdbwd", "pid": pid, "id": event.id}
    return [
        {"ph": "s", **common, "tid": forward.thread, "ts": forward.time_range.start},
        {"ph": "f", "bp": "e", **common, "tid": event.thread, "ts": event.time_range.start},
    ]


def chrome_trace(events: EventList, path: str) -> None:
    """Write the events in Chrome's trace format."""
    import json
    import os

    pid = os.getpid()
    records: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": {"name": with_rank("undertow")}}]
    for thread in sorted({event.thread for event in events}):
        records.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "ts": 0, "args": {"name": f"thread {thread}"}})
    for event in events:
        records.append(_slice(event, pid))
        if event.forward_event is not None and event.cpu_parent is not None and event.name == event.cpu_parent.name.rpartition(": ")[2]:
            records += _arrow(event, event.forward_event, pid)
    found: dict[str, Any] = {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": records}
    if (ranks := rank_and_size()) is not None:
        found["distributedInfo"] = {"rank": ranks[0], "world_size": ranks[1]}  # where PyTorch's tools look for it
    text = json.dumps(found)
    if path.endswith(".gz"):
        import gzip

        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def stacks(events: EventList, path: str, metric: str) -> None:
    """Write folded stacks: frames from the outermost, separated by semicolons, then a space and the metric."""
    plain = str.maketrans(" ;\t\n", "____")
    sums: dict[str, float] = {}
    for event in events:
        if event.stack:
            line = ";".join(frame.translate(plain) for frame in reversed(event.stack))
            sums[line] = sums.get(line, 0) + getattr(event, metric, 0)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line} {int(value)}\n" for line, value in sums.items() if int(value) > 0)
