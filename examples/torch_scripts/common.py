"""What the programs share: the command line, the progress bar, and digits drawn with noise."""

import argparse
import sys
import time
from pathlib import Path

import torch

TEXT = Path(__file__).resolve().parents[1] / "data" / "sonnets.txt"

GLYPHS = """
.###. ..#.. .###. .###. ...#. ##### .###. ##### .###. .###.
#...# .##.. #...# #...# ..##. #.... #.... ....# #...# #...#
#...# ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#
#...# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .####
#...# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# ..#.. #...# ....#
.###. .###. ##### .###. ...#. .###. .###. ..#.. .###. .###.
"""


def arguments(description, steps, **more):
    """The command line; `more` are further options with their defaults. Seeds the generator and sets the dtype."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    for name, default in more.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_default_dtype(getattr(torch, args.dtype))
    return args


def report(step, **values):
    """One line for a step, always in the same form."""
    print(f"step {step}", *(f"{name} {float(value):.10g}" for name, value in values.items()))


def progress(count, what):
    """0 to count - 1, with a bar on stderr: tqdm's if it is installed, otherwise a simple line."""
    if not sys.stderr.isatty():
        yield from range(count)
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield from plain_bar(count, what)
        return
    yield from tqdm(range(count), desc=what, file=sys.stderr, leave=False)


def plain_bar(count, what):
    """The bar without tqdm."""
    start = time.perf_counter()
    for i in range(count):
        filled = 30 * i // count
        print(f"\r{what} [{'#' * filled}{'.' * (30 - filled)}] {i}/{count} {time.perf_counter() - start:.0f} s ", end="", file=sys.stderr, flush=True)
        yield i
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr, flush=True)


def digits(count, size=12, noise=0.15):
    """`count` images of size x size, a digit somewhere in each, and the digits."""
    rows = [line.split() for line in GLYPHS.split("\n") if line]
    shapes = torch.tensor([[[float(c == "#") for c in row[d]] for row in rows] for d in range(10)])
    labels = torch.randint(0, 10, (count,))
    places = torch.stack([torch.randint(0, size - 6, (count,)), torch.randint(0, size - 4, (count,))], dim=1)
    images = torch.randn(count, 1, size, size) * noise
    for image, label, (top, left) in zip(images, labels, places.tolist()):
        image[0, top : top + 7, left : left + 5] += shapes[label]
    return images, labels
