"""The emulated CUDA driver: streams, events, memory and graphs do what they should, and mistakes in their use are found."""

from __future__ import annotations

from ctypes import CFUNCTYPE, byref, c_float, c_int, c_uint, c_uint64, c_void_p

import numpy as np
import pytest
from emulated_cuda import CudaError, Driver, run

INVALID_VALUE, OUT_OF_MEMORY, INVALID_HANDLE, NOT_READY, ILLEGAL_ADDRESS = 1, 2, 400, 600, 700
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_UNJOINED = 900, 901, 904
NOT_PERMITTED, GLOBAL, RELAXED, NON_BLOCKING = 800, 0, 2, 1

SCALE = """
extern "C" __global__ void scale(float* x, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] *= factor;
}
"""


@pytest.fixture(scope="module")
def cuda():
    return Driver()


def test_a_stream_runs_only_when_somebody_waits_for_it(cuda):
    stream = cuda.handle("cuStreamCreate", c_uint(NON_BLOCKING))
    pinned = cuda.handle("cuMemHostAlloc", 4, c_uint(0))
    device = cuda.put(np.zeros(1, np.int32))
    value = c_int.from_address(pinned)
    value.value = 1
    cuda.cuMemcpyHtoDAsync_v2(device, pinned, 4, stream)
    value.value = 2  # pinned memory is read when the copy runs
    with pytest.raises(CudaError) as error:
        cuda.cuStreamQuery(stream)
    assert error.value.code == NOT_READY
    cuda.cuStreamSynchronize(stream)
    cuda.cuStreamQuery(stream)
    assert cuda.get(device, np.zeros(1, np.int32))[0] == 2
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(pinned)


def test_pageable_memory_is_read_at_the_call(cuda):
    stream = cuda.handle("cuStreamCreate", c_uint(NON_BLOCKING))
    device, x = cuda.put(np.zeros(1, np.int32)), np.array([5], np.int32)
    cuda.cuMemcpyHtoDAsync_v2(device, c_void_p(x.ctypes.data), 4, stream)
    x[0] = 6
    cuda.cuStreamSynchronize(stream)
    assert cuda.get(device, x)[0] == 5
    cuda.cuStreamDestroy_v2(stream)


def _fill_then_read_on_another_stream(cuda, with_event: bool) -> int:
    first, second = (cuda.handle("cuStreamCreate", c_uint(NON_BLOCKING)) for _ in range(2))
    event = cuda.handle("cuEventCreate", c_uint(2))
    x, y = cuda.put(np.zeros(1, np.int32)), cuda.put(np.zeros(1, np.int32))
    cuda.cuMemsetD32Async(x, c_uint(9), 1, first)
    if with_event:
        cuda.cuEventRecord(event, first)
        cuda.cuStreamWaitEvent(second, event, c_uint(0))
    cuda.cuMemcpyDtoDAsync_v2(y, x, 4, second)
    cuda.cuCtxSynchronize()
    cuda.cuEventDestroy_v2(event)
    for stream in (first, second):
        cuda.cuStreamDestroy_v2(stream)
    return int(cuda.get(y, np.zeros(1, np.int32))[0])


def test_a_missing_event_gives_a_wrong_result(cuda):
    assert _fill_then_read_on_another_stream(cuda, with_event=True) == 9
    assert _fill_then_read_on_another_stream(cuda, with_event=False) == 0


def test_the_default_stream_waits_for_blocking_streams_and_they_for_it(cuda):
    blocking = cuda.handle("cuStreamCreate", c_uint(0))
    x, y, z = (cuda.put(np.zeros(1, np.int32)) for _ in range(3))
    cuda.cuMemsetD32Async(x, c_uint(4), 1, blocking)
    cuda.cuMemcpyDtoDAsync_v2(y, x, 4, 0)
    cuda.cuMemcpyDtoDAsync_v2(z, y, 4, blocking)
    cuda.cuStreamSynchronize(blocking)
    assert [int(cuda.get(p, np.zeros(1, np.int32))[0]) for p in (x, y, z)] == [4, 4, 4]
    cuda.cuStreamDestroy_v2(blocking)


def test_events_measure_time_and_know_when_they_are_over(cuda):
    begin, end = (cuda.handle("cuEventCreate", c_uint(0)) for _ in range(2))
    cuda.cuEventRecord(begin, 0)
    cuda.cuEventRecord(end, 0)
    elapsed = c_float(-1)
    with pytest.raises(CudaError) as error:
        cuda.cuEventElapsedTime_v2(byref(elapsed), begin, end)
    assert error.value.code == NOT_READY
    cuda.cuEventSynchronize(end)
    cuda.cuEventElapsedTime_v2(byref(elapsed), begin, end)
    assert elapsed.value >= 0
    for event in (begin, end):
        cuda.cuEventDestroy_v2(event)


@pytest.mark.parametrize(
    ("create", "destroy", "use"),
    [
        (("cuStreamCreate", c_uint(0)), "cuStreamDestroy_v2", "cuStreamSynchronize"),
        (("cuEventCreate", c_uint(0)), "cuEventDestroy_v2", "cuEventSynchronize"),
    ],
)
def test_a_destroyed_object_cannot_be_used(cuda, capfd, create, destroy, use):
    handle = cuda.handle(*create)
    getattr(cuda, destroy)(handle)
    for call in (use, destroy):
        with pytest.raises(CudaError) as error:
            getattr(cuda, call)(handle)
        assert error.value.code == INVALID_HANDLE
    assert "was destroyed" in capfd.readouterr().err


def test_memory_is_checked(cuda, capfd):
    pointer = cuda.handle("cuMemAlloc_v2", 100)
    for begin, count in ((pointer, 101), (pointer + 90, 11), (pointer - 1, 1), (16, 1)):
        with pytest.raises(CudaError) as error:
            cuda.cuMemsetD8Async(begin, c_uint(0), count, 0)
        assert error.value.code == INVALID_VALUE
    assert "leave the allocation of 100 bytes of device memory" in capfd.readouterr().err
    cuda.cuMemFree_v2(pointer)
    with pytest.raises(CudaError) as error:
        cuda.cuMemFree_v2(pointer)
    assert error.value.code == INVALID_VALUE


def test_new_memory_holds_conspicuous_bytes(cuda):
    pointer = cuda.handle("cuMemAlloc_v2", 64)
    assert set(cuda.get(pointer, np.zeros(64, np.uint8))) == {0xA5}
    cuda.cuMemFree_v2(pointer)


def test_the_host_cannot_touch_device_memory():
    program = 'pointer = cuda.put(np.ones(1, np.int32))\nprint(c_int.from_address(pointer).value)'
    result = run(program)
    assert result.returncode < 0
    assert "the host touched device memory" in result.stderr
    assert run(program, protect=0).stdout == "1\n"


def test_a_kernel_cannot_touch_released_memory():
    program = f"""
kernels = cuda.compile({SCALE!r}, [])
pointer = cuda.put(np.ones(1, np.float32))
cuda.cuMemFree_v2(pointer)
kernels.launch("scale", 1, 1, pointer, c_float(2), c_int(1))
try:
    cuda.cuCtxSynchronize()
except CudaError as error:
    print(error.code)
"""
    result = run(program)
    assert result.stdout == f"{ILLEGAL_ADDRESS}\n"
    assert "released" in result.stderr


def test_rows_are_copied_with_pitches(cuda):
    x = np.arange(48, dtype=np.int32).reshape(6, 8)
    source, target = cuda.put(x), cuda.put(np.zeros((6, 3), np.int32))
    # CUDA_MEMCPY2D as sixteen words: x, y, type, host, device, array, pitch for each side, then width and height.
    words = [8, 0, 2, 0, source, 0, 32, 0, 0, 2, 0, target, 0, 12, 12, 6]
    cuda.cuMemcpy2DAsync_v2((c_uint64 * 16)(*words), 0)
    assert np.array_equal(cuda.get(target, np.zeros((6, 3), np.int32)), x[:, 2:5])


def _end_of_capture(cuda, stream: int) -> int:
    graph = c_uint64()
    cuda.cuStreamEndCapture(stream, byref(graph))
    return graph.value


def _captured(cuda, stream: int, record) -> int:
    cuda.cuStreamBeginCapture_v2(stream, c_int(RELAXED))
    record()
    graph = _end_of_capture(cuda, stream)
    executable = cuda.handle("cuGraphInstantiateWithFlags", graph, 0)
    cuda.cuGraphDestroy(graph)
    return executable


def test_a_graph_replays_the_captured_operations_of_two_streams(cuda):
    kernels = cuda.compile(SCALE, [])
    first, second = (cuda.handle("cuStreamCreate", c_uint(NON_BLOCKING)) for _ in range(2))
    fork, join = (cuda.handle("cuEventCreate", c_uint(2)) for _ in range(2))
    x, y = cuda.put(np.ones(4, np.float32)), cuda.put(np.ones(4, np.float32))

    def record():
        kernels.launch("scale", 1, 32, x, c_float(2), c_int(4), stream=first)
        cuda.cuEventRecord(fork, first)
        cuda.cuStreamWaitEvent(second, fork, c_uint(0))
        cuda.cuMemcpyDtoDAsync_v2(y, x, 16, second)
        cuda.cuEventRecord(join, second)
        cuda.cuStreamWaitEvent(first, join, c_uint(0))
        kernels.launch("scale", 1, 32, y, c_float(10), c_int(4), stream=first)

    executable = _captured(cuda, first, record)
    assert list(cuda.get(x, np.zeros(4, np.float32))) == [1, 1, 1, 1]  # capturing runs nothing
    for replay in (1, 2, 3):
        cuda.cuGraphLaunch(executable, first)
        cuda.cuStreamSynchronize(first)
        assert list(cuda.get(x, np.zeros(4, np.float32))) == [2**replay] * 4
        assert list(cuda.get(y, np.zeros(4, np.float32))) == [10 * 2**replay] * 4
    cuda.cuGraphExecDestroy(executable)
    with pytest.raises(CudaError) as error:
        cuda.cuGraphLaunch(executable, first)
    assert error.value.code == INVALID_HANDLE


def test_a_capture_refuses_synchronization_and_streams_that_do_not_join(cuda):
    first, second = (cuda.handle("cuStreamCreate", c_uint(NON_BLOCKING)) for _ in range(2))
    event, x = cuda.handle("cuEventCreate", c_uint(2)), cuda.put(np.zeros(1, np.int32))

    cuda.cuStreamBeginCapture_v2(first, c_int(RELAXED))
    cuda.cuMemsetD32Async(x, c_uint(1), 1, first)
    with pytest.raises(CudaError) as error:
        cuda.cuStreamSynchronize(first)
    assert error.value.code == CAPTURE_UNSUPPORTED
    with pytest.raises(CudaError) as error:
        _end_of_capture(cuda, first)
    assert error.value.code == CAPTURE_INVALIDATED

    cuda.cuStreamBeginCapture_v2(first, c_int(RELAXED))
    cuda.cuMemsetD32Async(x, c_uint(1), 1, first)
    cuda.cuEventRecord(event, first)
    cuda.cuStreamWaitEvent(second, event, c_uint(0))
    cuda.cuMemsetD32Async(x, c_uint(2), 1, second)
    with pytest.raises(CudaError) as error:
        _end_of_capture(cuda, first)
    assert error.value.code == CAPTURE_UNJOINED


def test_a_capture_in_global_mode_forbids_allocation_until_the_thread_permits_it(cuda):
    stream = cuda.handle("cuStreamCreate", c_uint(NON_BLOCKING))
    cuda.cuStreamBeginCapture_v2(stream, c_int(GLOBAL))
    mode = c_int(RELAXED)
    cuda.cuThreadExchangeStreamCaptureMode(byref(mode))
    pointer = cuda.handle("cuMemAlloc_v2", 8)
    cuda.cuThreadExchangeStreamCaptureMode(byref(mode))
    with pytest.raises(CudaError) as error:
        cuda.handle("cuMemAlloc_v2", 8)
    assert error.value.code == CAPTURE_UNSUPPORTED
    with pytest.raises(CudaError) as error:
        _end_of_capture(cuda, stream)
    assert error.value.code == CAPTURE_INVALIDATED
    cuda.cuMemFree_v2(pointer)
    cuda.cuStreamDestroy_v2(stream)


def test_a_host_function_runs_in_its_turn_and_cannot_call_the_driver(cuda):
    stream = cuda.handle("cuStreamCreate", c_uint(NON_BLOCKING))
    x = cuda.put(np.zeros(1, np.int32))
    seen = []

    @CFUNCTYPE(None, c_void_p)
    def function(_data):
        seen.append(cuda.library.cuCtxSynchronize())

    cuda.cuMemsetD32Async(x, c_uint(1), 1, stream)
    cuda.cuLaunchHostFunc(stream, function, None)
    assert seen == []
    cuda.cuStreamSynchronize(stream)
    assert seen == [NOT_PERMITTED]
    cuda.cuStreamDestroy_v2(stream)


def test_two_devices_copy_between_their_memories_and_refuse_each_others_objects():
    program = f"""
def code_of(call, *arguments):
    try:
        getattr(cuda, call)(*arguments)
    except CudaError as error:
        return error.code
contexts = [cuda.handle("cuDevicePrimaryCtxRetain", c_int(ordinal)) for ordinal in (0, 1)]
kernels = cuda.compile({SCALE!r}, [])
x = cuda.put(np.array([7], np.float32))
event = cuda.handle("cuEventCreate", c_uint(2))
first = cuda.handle("cuStreamCreate", c_uint(1))
cuda.cuCtxSetCurrent(contexts[1])
y, second = cuda.put(np.zeros(1, np.float32)), cuda.handle("cuStreamCreate", c_uint(1))
try:
    kernels.launch("scale", 1, 1, y, c_float(2), c_int(1), stream=second)
except CudaError as error:
    print(error.code)
print(code_of("cuEventRecord", event, second), code_of("cuMemcpyPeerAsync", y, contexts[0], x, contexts[0], 4, second))
# A stream of one device waits for an event of the other one.
cuda.cuCtxSetCurrent(contexts[0])
kernels.launch("scale", 1, 1, x, c_float(2), c_int(1), stream=first)
cuda.cuEventRecord(event, first)
cuda.cuCtxSetCurrent(contexts[1])
cuda.cuStreamWaitEvent(second, event, c_uint(0))
cuda.cuMemcpyPeerAsync(y, contexts[1], x, contexts[0], 4, second)
cuda.cuStreamSynchronize(second)
print(cuda.get(y, np.zeros(1, np.float32))[0])
"""
    result = run(program, devices=2)
    assert result.stdout.split() == [str(INVALID_HANDLE), str(INVALID_HANDLE), str(INVALID_VALUE), "14.0"], result.stderr


def test_settings_choose_devices_and_memory():
    program = """
count, free, total = c_int(), c_size_t(), c_size_t()
cuda.cuDeviceGetCount(byref(count))
a = cuda.handle("cuMemAlloc_v2", 600000)
try:
    cuda.handle("cuMemAlloc_v2", 600000)
except CudaError as error:
    print(error.code)
cuda.cuMemFree_v2(a)
cuda.handle("cuMemAlloc_v2", 600000)
cuda.cuMemGetInfo_v2(byref(free), byref(total))
print(count.value, total.value, free.value < 500000)
"""
    result = run(program, devices=2, memory=1000000)
    assert result.stdout.split() == [str(OUT_OF_MEMORY), "2", "1000000", "True"], result.stderr


def test_what_is_alive_at_exit_is_reported():
    result = run('cuda.handle("cuMemAlloc_v2", 1234)\ncuda.handle("cuEventCreate", 0)', leaks=1)
    assert "1234 bytes of device memory" in result.stderr
    assert "1 events" in result.stderr


def test_a_forked_child_cannot_use_the_driver():
    program = """
import os
if os.fork() == 0:
    try:
        cuda.cuCtxSynchronize()
    except CudaError as error:
        print(error.code, flush=True)
    os._exit(0)
os.wait()
"""
    assert run(program).stdout.split() == ["3"]


def test_seeds_change_the_order_of_streams():
    program = """
streams = [cuda.handle("cuStreamCreate", c_uint(1)) for _ in range(6)]
x = cuda.put(np.zeros(1, np.int32))
for number, stream in enumerate(streams):
    cuda.cuMemsetD32Async(x, c_uint(number), 1, stream)
cuda.cuCtxSynchronize()
print(cuda.get(x, np.zeros(1, np.int32))[0])
"""
    assert len({run(program, seed=seed).stdout for seed in range(1, 7)}) > 1
    assert run(program, seed=3).stdout == run(program, seed=3).stdout
