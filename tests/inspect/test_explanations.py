"""`Recording.explain`: what it says is what happened."""

from __future__ import annotations

import undertow as ut
from undertow import nn
from undertow.inspect import record
from undertow.inspect._tables import FINISHED


def text_of(r) -> str:
    return str(r.explain())


def test_the_critical_path_is_the_slow_branch():
    x = ut.rand(2, requires_grad=True)
    w = ut.rand(2, 2, requires_grad=True)
    with record() as r:
        slow = (w @ w @ w).sum()
        fast = x.exp().sum()
        (slow + fast).backward()
    events, now = r.data["events"], 0
    for i, (kind, node) in enumerate(zip(events["kind"], events["node"], strict=True)):  # a clock of our own: a node takes 1, a product 100
        now += (100 if r.name(node) == "MmBackward0" else 1) * (kind == FINISHED)
        events["time"][i] = now
    path = r.critical_path()
    assert path[0] == "AddBackward0" and "MmBackward0" in path and "ExpBackward0" not in path
    assert "Critical path" in text_of(r) and r.slowest(1)[0][0] == "MmBackward0"


def test_a_reason_is_given_for_every_parameter_without_a_gradient():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused, self.cut = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.used(x) + self.cut(x).detach()

    model = Model()
    with record() as r:
        model(ut.rand(3, 2)).sum().backward()
    missing = {n["parameter"]: n["reason"] for n in r.data["notes"]}
    assert missing == {"unused.weight": "unused", "unused.bias": "unused", "cut.weight": "detached", "cut.bias": "detached"}
    assert "No gradient for unused.weight, unused.bias: in each case the loss was not computed from it" in text_of(r)
    assert "detach()" in text_of(r)


def test_vanishing_exploding_and_zero_gradients_are_named():
    model = nn.ModuleDict({name: nn.Linear(4, 4, bias=False) for name in ("small", "large", "usual", "zero")})
    x = ut.rand(3, 4)
    with record(values=True) as r:
        (model["small"](x) * 1e-12 + model["large"](x) * 1e9 + model["usual"](x) + model["zero"](x) * 0).sum().backward()
    said = [n["text"] for n in r.explain().notes]
    names = {leaf: r.string(r.data["nodes"]["leaf_s"][leaf]) for leaf in range(len(r.data["nodes"]["kind"]))}
    assert len([n for n in names.values() if n]) == 4
    for word in ("vanishes", "explodes", "is zero everywhere"):
        assert sum(word in text for text in said) == 1, said


def test_the_first_nan_is_found_with_its_producer():
    x = ut.zeros(3, requires_grad=True)
    with record(values=True) as r:
        ((x * 2).sqrt() * 3).sum().backward()
    assert r.first_nonfinite() == ("MulBackward0", r.line(r.ran()[2]))
    assert "The first gradient with Inf entered MulBackward0" in text_of(r) and "computed by SqrtBackward0" in text_of(r)


def test_without_values_nothing_is_said_about_gradients():
    with record() as r:
        ut.zeros(3, requires_grad=True).sqrt().sum().backward()
    assert r.first_nonfinite() is None and "Inf" not in text_of(r)


def test_work_for_nothing_is_named():
    model, x = nn.Linear(2, 2), ut.rand(3, 2, requires_grad=True)
    with record() as r:
        model(x).sum()
        loss = model(x).exp().sum()
        loss.backward(retain_graph=True)
    said = text_of(r)
    assert "A gradient of shape [3, 2] was computed for a leaf that is no parameter" in said
    assert "recorded operations were in no pass" in said
    assert "leave out retain_graph=True" in said


def test_gradients_of_inputs_are_one_finding_and_those_inside_a_checkpoint_are_none():
    model = nn.Linear(2, 2)
    with record() as r:
        for _ in range(3):
            ut.utils.checkpoint.checkpoint(model, model(ut.rand(3, 2, requires_grad=True)), use_reentrant=True).sum().backward()
    said = [line for line in r.explain().sections["Work for nothing"] if "no parameter" in line]
    assert said == ["A gradient of shape [3, 2] was computed for 3 leaves that are no parameters: set requires_grad=False if it is an input."]


def test_a_kept_graph_that_is_used_again_is_no_waste():
    x = ut.rand(3, requires_grad=True)
    with record() as r:
        loss = x.exp().sum()
        loss.backward(retain_graph=True)
        loss.backward()
    assert "retain_graph" not in text_of(r)


def test_memory_is_counted_once_per_storage_and_by_module():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide, self.narrow = nn.Linear(4, 300_000), nn.Linear(300_000, 1)

        def forward(self, x):
            return self.narrow(self.wide(x).tanh())

    model = Model()
    with record() as r:
        model(ut.rand(2, 4)).sum().backward()
    saved = {row[4]: row[3] for rows in r.data["nodes"]["saved"] for row in rows}
    memory = r.explain().sections["Memory"]
    assert f"{sum(saved.values()) / (1 << 20):.1f} MiB" in memory[0]
    assert any("checkpoint()" in line for line in r.explain().sections["What would save memory"])


def test_memory_of_several_passes_is_that_of_the_largest():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    small, large = ut.rand(2, 4), ut.rand(400, 4)
    recordings = []
    for batches in ((large,), (small, large, small)):
        with record() as r:
            for batch in batches:
                model(batch).sum().backward()
        recordings.append(r.explain().sections["Memory"])
    alone, among = recordings
    assert alone[0].endswith("when the pass began.") and among[0].endswith("when pass 1 began, the most of 3 passes.")
    assert alone[0].split(" when")[0] == among[0].split(" when")[0] and alone[2:] == among[2:]


def test_the_same_operation_of_several_passes_is_one_of_the_slowest_nodes():
    x = ut.rand(300, 300, requires_grad=True)
    with record() as r:
        for _ in range(3):
            (x @ x).sum().backward()
    slowest = next(line for line in r.explain().sections["Time"] if line.startswith("Slowest nodes"))
    assert slowest.count("MmBackward0") == 1 and "in 3 runs" in slowest


def test_checkpointing_a_list_of_modules_means_each_of_them():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(4)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    model = Model()
    with record() as r:
        model(ut.rand(2000, 64)).sum().backward()
    assert any("checkpoint() around each module in blocks would" in line for line in r.explain().sections["What would save memory"])


def test_gradients_that_all_explode_are_compared_with_the_limit_and_not_with_each_other():
    model = nn.Linear(3, 2)
    with record(values=True) as r:
        (model(ut.ones(2, 3)) * 1e9).sum().backward()
    said = [n["text"] for n in r.explain().notes]
    assert said == [f"The gradient of {name} explodes: root mean square 2.0e+09, over 1000." for name in ("bias", "weight")]


def test_errors_and_nested_passes_are_in_the_summary():
    class Inner(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with ut.enable_grad():
                ut.ones(1, requires_grad=True).sin().sum().backward()
            raise ArithmeticError("on purpose")

    with record() as r:
        try:
            Inner.apply(ut.ones(2, requires_grad=True)).sum().backward()
        except ArithmeticError:
            pass
    assert "1 more pass ran inside" in text_of(r) and "on purpose" in text_of(r)


def test_norms_of_parameters_over_training_steps():
    model = nn.Linear(2, 1)
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1)
    expected = []
    with record(values=True) as r:
        for _ in range(3):
            optimizer.zero_grad()
            (model(ut.rand(4, 2)) ** 2).sum().backward()
            expected.append(float(model.weight.grad.norm()))
            optimizer.step()
    assert [round(n, 4) for n in r.norms()["weight"]] == [round(n, 4) for n in expected]


def held_at_the_end(r) -> dict[str, str]:
    return {note["holder"]: note["text"] for note in r.data["notes"] if "holder" in note}


def test_variables_attributes_and_entries_that_hold_a_graph_are_named():
    class Trainer:
        def __init__(self):
            self.state = {"last": None}
            self.losses = []

    x, trainer = ut.rand(1000, requires_grad=True), Trainer()
    with record() as r:
        for _ in range(3):
            trainer.losses.append((x * 2).exp().sum())
        trainer.state["last"] = (x * 2).sin().sum()
        kept = x.tanh().sum()
        node = x.exp().sum().grad_fn
        freed = x.exp().sum()
        freed.backward()
    found = held_at_the_end(r)
    assert set(found) == {"trainer.losses", "trainer.state['last']", "kept", "node"} and freed is not None
    assert found["trainer.losses"].startswith("3 entries of trainer.losses (in test_variables_attributes_and_entries_that_hold_a_graph_are_named, ")
    assert "11.7 KiB of saved tensors would be free" in found["trainer.losses"]  # three results of exp
    assert all(f"At the end {text}" in r.explain().sections["Memory"] for text in found.values())
    assert {note["text"] for note in r.explain().notes} >= set(found.values())
    assert kept is not None and node is not None


def test_a_graph_that_several_variables_share_is_counted_once_in_each_container():
    x = ut.rand(1000, requires_grad=True)
    with record() as r:
        sums, h = [], x
        for _ in range(5):
            h = h.exp()
            sums.append(h.sum())
    found = held_at_the_end(r)["sums"]
    assert found.startswith("5 entries of sums") and "15.6 KiB" in found  # four results; the fifth is in h


def test_objects_of_any_kind_among_the_variables_do_no_harm():
    class Refuses:
        def __getattribute__(self, name):
            raise RuntimeError("hands off")

    circle: list = [ut.ones(1)]
    circle.append(circle)
    odd = [Refuses(), circle, {1, 2}, iter([]), type, ut]
    with record() as r:
        ut.rand(3, requires_grad=True).exp().sum().backward()
    assert held_at_the_end(r) == {} and odd
