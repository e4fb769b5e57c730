"""Tensors on a GPU through the Python face: creation, moves, reading, pickling, exchange with other libraries."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import undertow as ut

pytestmark = pytest.mark.cuda


def test_every_way_to_name_the_device_makes_the_same_tensor():
    for device in ("cuda", "cuda:0", ut.device("cuda"), ut.device("cuda", 0), 0):
        t = ut.zeros(2, 3, device=device)
        assert t.is_cuda and not t.is_cpu and t.device == ut.device("cuda:0") and t.get_device() == 0
        assert t.to(device) is t
    assert ut.device("cuda") != ut.device("cuda:0")
    assert ut.ones(2).cuda().device == ut.ones(2).cuda(0).device == ut.ones(2).cuda("cuda:0").device == ut.device("cuda:0")


def test_factories_and_the_default_device():
    assert ut.full((2,), 7, device="cuda").tolist() == [7, 7]
    assert ut.arange(3, device="cuda").tolist() == [0, 1, 2]
    assert ut.tensor([[1.5]], device="cuda").item() == 1.5
    x = ut.ones(2, device="cuda", dtype=ut.float64)
    for made in (x.new_zeros(3), ut.zeros_like(x), x.new_tensor([1.0]), x.new(3), ut.empty_like(x)):
        assert made.is_cuda and made.dtype == ut.float64
    with ut.device("cuda"):
        assert ut.zeros(2).is_cuda and ut.tensor([1]).is_cuda and ut.nn.Linear(2, 2).weight.is_cuda
    assert ut.zeros(2).is_cpu


def test_a_device_that_does_not_exist_raises():
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        ut.zeros(2, device=f"cuda:{ut.cuda.device_count()}")


def test_elements_are_read_by_copying_them_to_the_host():
    x = ut.tensor([[1.0, 2.0], [3.0, 4.0]]).cuda()
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]] and x.t().tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert x[1, 0].item() == 3.0 and float(x[0, 1]) == 2.0 and bool(x[0, 0]) and int(x[1, 1]) == 4
    assert repr(x[0]) == "tensor([1., 2.], device='cuda:0')"
    assert x.type() == "undertow.cuda.FloatTensor"
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    assert np.array_equal(x.numpy(force=True), [[1, 2], [3, 4]])
    assert ut.allclose(x, x.clone()) and ut.equal(x, x.clone())
    ut.testing.assert_close(x, x.clone())


def test_operands_on_two_devices_raise_with_both_names():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu"):
        ut.ones(2, device="cuda") + ut.ones(2)
    assert (ut.ones(2, device="cuda") + ut.tensor(1.0)).tolist() == [2.0, 2.0]  # a number on the CPU goes with every device


def test_indices_may_be_lists_and_tensors_on_the_cpu():
    x = ut.arange(5, device="cuda")
    assert x[[0, 3]].tolist() == x[ut.tensor([0, 3])].tolist() == x[ut.tensor([0, 3], device="cuda")].tolist() == [0, 3]
    x[[1, 2]] = 9
    assert x.tolist() == [0, 9, 9, 3, 4] and x[x > 5].tolist() == [9, 9]


def test_an_index_out_of_range_is_an_error_of_this_program_and_leaves_the_device_usable():
    x = ut.arange(3, device="cuda")
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x[ut.tensor([7], device="cuda")].tolist()
    assert (x + 1).tolist() == [1, 2, 3]


def test_storages_copy_between_devices():
    s = ut.tensor([1, 2, 255], dtype=ut.uint8).cuda().untyped_storage()
    assert s.is_cuda and s.tolist() == [1, 2, 255] and s[2] == 255 and s.cpu().tolist() == [1, 2, 255] and s.clone().tolist() == [1, 2, 255]
    s[0] = 7
    assert s.tolist() == [7, 2, 255] and s.fill_(3).tolist() == [3, 3, 3]
    host = ut.UntypedStorage([4, 5, 6])
    assert s.copy_(host).tolist() == [4, 5, 6] and host.cuda().tolist() == [4, 5, 6] and host.copy_(s.fill_(1)).tolist() == [1, 1, 1]
    assert ut.UntypedStorage([4, 5, 6], device="cuda").tolist() == [4, 5, 6]
    assert "device=cuda:0" in repr(s)


def test_copies_and_pickles_share_storage_as_before():
    x = ut.arange(4.0).cuda()
    for made in (copy.deepcopy([x, x[1:]]), pickle.loads(pickle.dumps([x, x[1:]]))):
        assert made[0].is_cuda and made[0].tolist() == [0, 1, 2, 3] and made[0].data_ptr() != x.data_ptr()
        assert made[1].data_ptr() == made[0].data_ptr() + 4
    p = ut.nn.Parameter(ut.ones(2, device="cuda"))
    assert isinstance(copy.deepcopy(p), ut.nn.Parameter) and copy.deepcopy(p).is_cuda


@pytest.mark.parametrize("legacy", (False, True))
def test_saved_files_remember_the_device(legacy: bool):
    def saved(value):
        file = io.BytesIO()
        ut.save(value, file, _use_new_zipfile_serialization=not legacy)
        file.seek(0)
        return file

    x = ut.arange(3.0, device="cuda")
    assert ut.load(saved({"x": x}))["x"].is_cuda
    assert ut.load(saved({"x": x}), map_location="cpu")["x"].is_cpu
    back = ut.load(saved({"x": x.cpu()}), map_location="cuda")["x"]
    assert back.is_cuda and back.tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="CUDA device 9"):
        ut.load(saved(x), map_location="cuda:9")


def test_modules_optimizers_and_state_dicts_move():
    net = ut.nn.Linear(3, 2)
    weight = net.weight
    assert net.cuda() is net and net.weight is weight and weight.is_cuda
    optimizer = ut.optim.Adam(net.parameters())
    net(ut.ones(1, 3, device="cuda")).sum().backward()
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(state)
    assert optimizer.state[weight]["exp_avg"].is_cuda
    other = ut.nn.Linear(3, 2)
    other.load_state_dict(net.state_dict())
    assert other.weight.is_cpu and ut.equal(other.weight, net.weight.cpu())


def test_gradients_cross_devices():
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    (x.cuda() * 3).cpu().sum().backward()
    assert x.grad.is_cpu and x.grad.tolist() == [3.0, 3.0]
    y = ut.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    (y * y).sum().backward()
    assert y.grad.is_cuda and y.grad.tolist() == [2.0, 4.0]


def test_other_libraries_get_the_memory_itself():
    x = ut.arange(6, device="cuda").reshape(2, 3)
    assert x.__dlpack_device__() == (2, 0)
    back = ut.from_dlpack(x)
    assert back.is_cuda and back.data_ptr() == x.data_ptr() and back.tolist() == x.tolist()
    assert ut.from_dlpack(x, device="cpu").is_cpu
    described = x.t().__cuda_array_interface__
    assert described["data"] == (x.data_ptr(), False) and described["shape"] == (3, 2) and described["strides"] == (8, 24)
    assert described["typestr"] == "<i8"
    with pytest.raises(AttributeError, match="non-CUDA tensor"):
        ut.ones(2).__cuda_array_interface__
    assert not hasattr(ut.ones(2), "__cuda_array_interface__")


def test_autocast_computes_products_in_half_precision():
    x, net = ut.ones(2, 3, device="cuda"), ut.nn.Linear(3, 2).cuda()
    with ut.autocast("cuda"):
        y = net(x)
        assert y.dtype == ut.float16 and y.softmax(-1).dtype == ut.float32 and (x.cpu() @ x.cpu().t()).dtype == ut.float32
    with ut.autocast("cuda", dtype=ut.bfloat16):
        assert net(x).dtype == ut.bfloat16
    assert net(x).dtype == ut.float32


def test_grad_scaler_skips_a_step_with_an_infinite_gradient():
    p = ut.nn.Parameter(ut.ones(2, device="cuda"))
    optimizer, scaler = ut.optim.SGD([p], lr=1.0), ut.amp.GradScaler("cuda", init_scale=4.0)
    scaler.scale((p * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [1.0, 1.0] and scaler.get_scale() == 2.0
    p.grad = None
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.0, 0.0]


def test_a_checkpoint_draws_the_same_random_numbers_again():
    from undertow.utils.checkpoint import checkpoint

    for reentrant in (False, True):
        x = ut.ones(100, device="cuda", requires_grad=True)
        y = checkpoint(lambda t: ut.nn.functional.dropout(t * 1, 0.5), x, use_reentrant=reentrant)
        y.sum().backward()
        assert ut.equal(x.grad != 0, y != 0)


def test_random_states_are_saved_and_seeds_reach_all_devices():
    ut.manual_seed(3)
    first = ut.rand(5, device="cuda").tolist()
    state = ut.cuda.get_rng_state()
    second = ut.rand(5, device="cuda").tolist()
    ut.cuda.set_rng_state(state)
    assert ut.rand(5, device="cuda").tolist() == second != first
    ut.manual_seed(3)
    assert ut.rand(5, device="cuda").tolist() == first and ut.cuda.initial_seed() == 3
    generator = ut.Generator("cuda").manual_seed(3)
    assert ut.rand(5, device="cuda", generator=generator).tolist() == first
    with ut.random.fork_rng():
        ut.rand(5, device="cuda")
    assert ut.rand(5, device="cuda").tolist() == second


def test_loaders_pin_batches():
    data = ut.utils.data.TensorDataset(ut.arange(6.0))
    for (batch,) in ut.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        assert batch.is_pinned() and batch.to("cuda", non_blocking=True).tolist() == batch.tolist()
