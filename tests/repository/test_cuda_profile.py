"""The table of a profiled step (bench/cuda_profile.py) says what the events of a trace say."""

from __future__ import annotations

from bench import cuda_profile


def event(name: str, start: float, duration: float, category: str = "kernel") -> dict[str, object]:
    return {"cat": category, "name": name, "ts": start, "dur": duration}


def test_kernels_are_added_up_by_name_and_overlapping_ones_count_once_as_busy():
    trace = cuda_profile.read([
        event("void undertow::add<float, 4>(float*, long)", 0, 30), event("void undertow::add<float, 4>(float*, long)", 50, 10),
        event("Memset (Device)", 20, 20, "gpu_memset"), event("cuLaunchKernel", 0, 100, "cuda_driver"), {"ph": "M"},
    ])  # fmt: skip
    assert [(r.name, r.time, r.count) for r in trace.rows] == [("add<float, 4>", 40, 2), ("Memset", 20, 1)]
    assert (trace.span, trace.busy) == (60, 50)


def test_the_report_divides_by_the_steps_and_sums_what_it_leaves_out():
    rows = [event("big<1>(int)", 0, 600), event("big<2>(int)", 600, 300), event("small(int)", 900, 30)]
    text = cuda_profile.report("a case", "undertow", cuda_profile.read(rows), 0.004, top=2)
    assert "a case, undertow: 4.00 ms a step" in text
    assert "big 300 us x1; small 10 us x0" in text
    assert text.splitlines()[-1].split() == ["10.0", "us", "0.3", "x", "1", "further", "kernels"]
