"""Checks of tensor parallel layers and of pipelines: outputs and gradients equal one process with the whole model."""

import undertow as ut
from undertow import nn
from undertow.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from undertow.distributed.tensor import Replicate, full_tensor, sharding_of
from undertow.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.up, self.down, self.head = nn.Embedding(11, 5), nn.Linear(5, 7), nn.Linear(7, 5), nn.Linear(5, 3)

    def forward(self, x):
        h = self.table(x)
        return self.head(h + self.down(self.up(h).relu()))


def feed(seed=0):
    ut.manual_seed(seed)
    return Feed().double()


def close(a, b):
    assert a.shape == b.shape and ut.allclose(a.detach(), b.detach(), rtol=1e-11, atol=1e-11), (a, b)


def check_divided_layers_compute_the_same(dist, rank, size):
    mesh = dist.init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    x = ut.arange(10).view(2, 5) % 11
    whole = feed()
    expected = whole(x)
    expected.square().sum().backward()
    plans = [
        {"up": ColwiseParallel(), "down": RowwiseParallel()},
        {"table": RowwiseParallel(), "head": ColwiseParallel(output_layouts=Replicate())},
        {"table": ColwiseParallel(output_layouts=Replicate()), "down": RowwiseParallel(input_layouts=Replicate())},
    ]
    for plan in plans:
        model = parallelize_module(feed(seed=rank), mesh, plan)
        undivided = [p for p in model.parameters() if sharding_of(p) is None]
        for p in undivided:
            dist.broadcast(p.detach(), 0)
        found = model(x)
        close(found, expected)
        found.square().sum().backward()
        for (name, p), (_, q) in zip(model.named_parameters(), whole.named_parameters()):
            sharding = sharding_of(p)
            close(p.grad if sharding is None else sharding.whole(p.grad), q.grad)
            assert (sharding is not None) == (name.split(".")[0] in plan and name != "down.bias"), name
        close(nn.utils.clip_grad_norm_(model.parameters(), 1e9), nn.utils.clip_grad_norm_(whole.parameters(), 1e9))
        close(full_tensor(model.state_dict()["down.weight"]), whole.down.weight)


def check_names_of_a_plan_may_have_stars(dist, rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    model = parallelize_module(
        nn.Sequential(nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Sequential(nn.Linear(6, 8))),
        mesh,
        {"*.0": ColwiseParallel(output_layouts=Replicate())},
    )
    assert [sharding_of(p) is not None for p in model.parameters()] == [True] * 4 and model(ut.ones(1, 4)).shape == (1, 8)
    for plan, words in (({"nothing": ColwiseParallel()}, "no module is called 'nothing'"), ({"0.1": ColwiseParallel()}, "but got ReLU")):
        try:
            parallelize_module(nn.Sequential(nn.Sequential(nn.Linear(4, 6), nn.ReLU())), mesh, plan)
        except (ValueError, NotImplementedError) as error:
            assert words in str(error)
        else:
            raise AssertionError("no error")


def layers(size):
    ut.manual_seed(3)
    return [nn.Sequential(nn.Linear(4, 4), nn.Tanh()).double() for _ in range(size)]


def check_pipelines_compute_the_gradients_of_the_whole_model(dist, rank, size):
    generator = ut.Generator().manual_seed(9)
    x, y = ut.randn(12, 4, generator=generator, dtype=ut.float64), ut.randn(12, 4, generator=generator, dtype=ut.float64)
    whole = nn.Sequential(*layers(size))
    expected = whole(x)
    nn.functional.mse_loss(expected, y).backward()
    for schedule in (ScheduleGPipe, Schedule1F1B):
        for parts in (1, 4, 6):
            mine = layers(size)[rank]
            runner = schedule(PipelineStage(mine, rank, size), parts, loss_fn=nn.functional.mse_loss)
            args = (x,) if rank == 0 else ()
            runner.eval(*args)
            for _ in range(2):
                mine.zero_grad()
                losses = []
                output = runner.step(*args, target=y if rank == size - 1 else None, losses=losses)
                assert (output is not None) == (rank == size - 1) == (len(losses) == parts)
                if output is not None:
                    close(output, expected)
                    close(ut.stack(losses).mean(), nn.functional.mse_loss(expected, y))
                for p, q in zip(mine.parameters(), whole[rank].parameters()):
                    close(p.grad, q.grad)
            output = runner.eval(*args)
            if output is not None:
                close(output, expected)


def check_one_forward_one_backward_keeps_few_activations(dist, rank, size):
    stage = PipelineStage(layers(size)[rank], rank, size)
    kept = []
    real = stage.forward

    def counting(number, args, kwargs):
        result = real(number, args, kwargs)
        kept.append(len(stage._outputs))
        return result

    stage.forward = counting
    runner = Schedule1F1B(stage, 8, loss_fn=nn.functional.mse_loss)
    x = ut.ones(8, 4, dtype=ut.float64)
    runner.step(*((x,) if rank == 0 else ()), target=x if rank == size - 1 else None)
    assert max(kept) == size - rank
