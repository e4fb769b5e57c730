"""`python -m undertow.inspect.tour`: the backward pass of a small network, explained step by step on the page.

The tour is about a real recording of the engine: the network below is run, its pass is recorded, and the page walks through its events,
from `loss.backward()` through roots, dependencies, the ready queue, buffers and hooks to `.grad`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import undertow as ut
from undertow.inspect._record import record
from undertow.inspect._show import announce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow.inspect._recording import Recording


class Small(ut.nn.Module):
    """Two layers with a shortcut, so that one tensor is used twice and its gradients meet again."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = ut.nn.Linear(3, 4)
        self.out = ut.nn.Linear(4, 1)

    def forward(self, x: ut.Tensor) -> ut.Tensor:
        """Compute the output of each row."""
        h = self.hidden(x)
        return self.out(h.tanh() + h)


def recorded_example() -> Recording:
    """Run the network and record its pass, with a hook that halves a gradient."""
    ut.manual_seed(0)
    model, x, target = Small(), ut.rand(8, 3), ut.rand(8, 1)
    with record(forward=True, values=True) as r:
        y = model(x)
        y.register_hook(lambda grad: grad * 0.5)
        loss = ((y - target) ** 2).mean()
        loss.backward()
    return r


def main(arguments: list[str]) -> int:
    """Write the page of the tour, and open it."""
    if arguments[:1] in (["-h"], ["--help"]) or len(arguments) > 2:
        print(f"usage: python -m undertow.inspect.tour [page.html] [--no-open]\n\n{__doc__}")
        return 0
    open_page = "--no-open" not in arguments
    path = Path(next((a for a in arguments if not a.startswith("-")), "tour.html")).absolute()
    recorded_example().to_html(path)
    announce(f"{path.as_uri()}#tour", open_page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
