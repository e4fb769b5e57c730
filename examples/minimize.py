"""Training with undertow.train: a linear regression with an embedding, by `minimize`, with a decaying learning rate and a moving average.

Each item has a hidden value; a price is the value of its item plus a linear function of two features, and noise. The
model learns the values (rows of a table, of which each step uses only a few) and the function.
"""

from __future__ import annotations

import sys
import time

import undertow as ut
from undertow import train

ITEMS, SALES, BATCH, STEPS = 40, 2000, 64, 600


def sales() -> tuple[ut.Tensor, ut.Tensor, ut.Tensor, ut.Tensor]:
    """Items, features and prices of the sales, and the hidden value of each item."""
    worth = ut.randn(ITEMS, 1)
    items, features = ut.randint(0, ITEMS, (SALES,)), ut.randn(SALES, 2)
    prices = worth[items] + features @ ut.tensor([[2.0], [-1.0]]) + 0.05 * ut.randn(SALES, 1)
    return items, features, prices, worth


def progress(step: int, loss: float, rate: float, start: float) -> None:
    """A progress line that is redrawn on a terminal, and printed now and then otherwise."""
    filled = 30 * step // STEPS
    line = f"  [{'█' * filled}{'·' * (30 - filled)}] {step:>3}/{STEPS}  loss {loss:.5f}  rate {rate:.4f}  {time.perf_counter() - start:4.1f} s"
    if sys.stdout.isatty():
        print("\r" + line, end="\n" if step == STEPS else "", flush=True)
    elif step % (STEPS // 4) == 0:
        print(line)


def main() -> int:
    ut.manual_seed(0)
    items, features, prices, worth = sales()
    table = train.Variable(ut.zeros(ITEMS, 1), name="worth")
    slope = train.Variable(ut.zeros(2, 1), name="slope")
    step = train.Variable(0, name="global_step", trainable=False)
    rate = train.polynomial_decay(0.5, step, STEPS, end_learning_rate=0.01)
    opt = train.AdagradOptimizer(rate)
    average = train.ExponentialMovingAverage(0.95)

    print(f"{SALES} sales of {ITEMS} items; {opt.get_name()}, rows of {table.name!r} only where a batch names them")
    start = time.perf_counter()
    while step.item() < STEPS:
        batch = ut.randint(0, SALES, (BATCH,))
        guess = ut.nn.functional.embedding(items[batch], table) + features[batch] @ slope
        loss = ((guess - prices[batch]) ** 2).mean()
        opt.minimize(loss, global_step=step)
        average.apply([table, slope])
        if step.item() % 10 == 0:
            progress(int(step), loss.item(), rate().item(), start)

    averaged_table, averaged_slope = average.average(table), average.average(slope)
    assert averaged_table is not None and averaged_slope is not None
    error = (averaged_table - worth).abs().mean().item()
    found = [round(v, 2) for v in averaged_slope.flatten().tolist()]
    print(f"slope {found} (hidden: [2.0, -1.0]); mean error of the worths {error:.3f}")
    return 0 if error < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
