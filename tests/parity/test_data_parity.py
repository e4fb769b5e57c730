"""For the same seed, samplers, splits and loaders choose the same samples as torch's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import undertow as ut
from undertow.utils import data as ours

sys.path.insert(0, str(Path(__file__).parents[1] / "utils"))
from worker_datasets import Numbers

theirs = torch.utils.data


def both(scenario):
    results = []
    for lib, data in ((ut, ours), (torch, theirs)):
        lib.manual_seed(11)
        drawn = scenario(lib, data)
        results.append((drawn, lib.rand(1).item()))  # the generator is left in the same state too
    assert results[0] == results[1]
    return results[0][0]


def seeded(lib):
    return lib.Generator().manual_seed(4)


SCENARIOS = {
    "random": lambda lib, d: [list(d.RandomSampler(range(50))) for _ in range(2)],
    "random, own generator": lambda lib, d: list(d.RandomSampler(range(50), generator=seeded(lib))),
    "with replacement": lambda lib, d: list(d.RandomSampler(range(50), replacement=True, num_samples=70)),
    "with replacement, generator": lambda lib, d: list(d.RandomSampler(range(50), True, 32, seeded(lib))),
    "more than there are": lambda lib, d: list(d.RandomSampler(range(5), num_samples=12)),
    "subset": lambda lib, d: list(d.SubsetRandomSampler([3, 5, 8, 9])),
    "weighted": lambda lib, d: list(d.WeightedRandomSampler([0.1, 0.9, 3.0, 0.5], 20)),
    "weighted, without replacement": lambda lib, d: list(d.WeightedRandomSampler([0.1, 0.9, 3.0, 0.5], 3, replacement=False)),
    "split": lambda lib, d: [list(p.indices) for p in d.random_split(range(20), [5, 15])],
    "split by fractions": lambda lib, d: [list(p.indices) for p in d.random_split(range(20), [0.33, 0.33, 0.34], generator=seeded(lib))],
    "distributed": lambda lib, d: [list(d.DistributedSampler(range(11), 3, r, seed=5)) for r in range(3)],
    "distributed, dropping": lambda lib, d: [list(d.DistributedSampler(range(11), 3, r, drop_last=True)) for r in range(3)],
    "distributed, few": lambda lib, d: [list(d.DistributedSampler(range(2), 5, r)) for r in range(5)],
    "loader": lambda lib, d: [[b.tolist() for b in d.DataLoader(range(20), 3, shuffle=True)] for _ in range(2)],
    "loader, generator": lambda lib, d: [b.tolist() for b in d.DataLoader(range(20), 3, shuffle=True, generator=seeded(lib))],
    "loader, not shuffled": lambda lib, d: [b.tolist() for b in d.DataLoader(range(20), 3)],
    "loader, left and begun again": lambda lib, d: [next(iter(d.DataLoader(range(20), 3, shuffle=True))).tolist() for _ in range(3)],
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_samples_for_the_same_seed(name):
    both(SCENARIOS[name])


@pytest.mark.parametrize("persistent", [False, True])
def test_the_same_samples_with_workers(persistent):
    def scenario(lib, d):
        loader = d.DataLoader(range(20), 3, shuffle=True, num_workers=2, persistent_workers=persistent)
        return [[b.tolist() for b in loader] for _ in range(2)]

    both(scenario)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_draw_the_same_numbers(persistent):
    import random

    import numpy as np

    class Draw(Numbers):
        def __init__(self, lib):
            super().__init__(4)
            self.lib = lib

        def __getitem__(self, i):
            return self.lib.rand(1).item(), random.random(), float(np.random.rand())

    def scenario(lib, d):
        loader = d.DataLoader(Draw(lib), batch_size=None, num_workers=2, collate_fn=list, persistent_workers=persistent)
        return [tuple(s) for _ in range(2) for s in loader]

    drawn = both(scenario)
    assert len({s[0] for s in drawn}) == 8
