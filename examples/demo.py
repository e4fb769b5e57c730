"""The demo: trains a small character-level GPT on Shakespeare's sonnets, then samples some lines from it.

Uses only undertow and the standard library. The text is split in two: the loss on the part that is not used for training
shows what was learned rather than memorized. Use `--steps 20` for a shorter run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import undertow as ut
import undertow.nn.functional as F
from undertow import nn

TEXT = Path(__file__).parent / "data" / "sonnets.txt"
WIDTH, LAYERS, HEADS, CONTEXT, BATCH, RATE = 96, 3, 4, 64, 16, 2e-3


class Block(nn.Module):
    """Causal self-attention, then a feed-forward layer, each with a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.drop = nn.Dropout(0.1)

    def forward(self, x: ut.Tensor) -> ut.Tensor:
        batch, length, _ = x.shape
        parts = self.attend(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.drop(self.project(mixed.transpose(1, 2).reshape(batch, length, WIDTH)))
        return x + self.drop(self.feed(self.norm2(x)))


class Gpt(nn.Module):
    """Characters in; logits of the next character out, at every position."""

    def __init__(self, letters: int) -> None:
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, letters, bias=False)
        for embedding in (self.letter, self.place):
            nn.init.normal_(embedding.weight, std=0.02)
        self.head.weight = self.letter.weight

    def forward(self, codes: ut.Tensor) -> ut.Tensor:
        x = self.letter(codes) + self.place(ut.arange(codes.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def windows(data: ut.Tensor) -> tuple[ut.Tensor, ut.Tensor]:
    """A batch of pieces of the text, and the same pieces shifted by one character."""
    starts = ut.randint(0, len(data) - CONTEXT, (BATCH,)).tolist()
    return ut.stack([data[i : i + CONTEXT] for i in starts]), ut.stack([data[i + 1 : i + 1 + CONTEXT] for i in starts])


def loss_of(model: Gpt, data: ut.Tensor) -> ut.Tensor:
    """The mean cross entropy, in nats per character, of a batch."""
    read, next_letters = windows(data)
    return F.cross_entropy(model(read).flatten(0, 1), next_letters.flatten())


def unread_loss(model: Gpt, data: ut.Tensor) -> float:
    """The loss on text that was not used for training."""
    model.eval()
    with ut.no_grad():
        mean = sum(loss_of(model, data).item() for _ in range(8)) / 8
    model.train()
    return mean


def bar(done: int, total: int, text: str, start: float) -> None:
    """A progress line that is redrawn on a terminal, and printed now and then otherwise."""
    width = 32
    filled = width * done // total
    spent = time.perf_counter() - start
    line = f"  [{'█' * filled}{'·' * (width - filled)}] {done:>4}/{total} {text}  {spent:4.0f} s, {spent / done * (total - done):3.0f} s to go"
    if sys.stdout.isatty():
        print("\r" + line, end="\n" if done == total else "", flush=True)
    elif done == total or done % max(total // 8, 1) == 0:
        print(line, flush=True)


def train(model: Gpt, text: ut.Tensor, unread: ut.Tensor, steps: int) -> None:
    """AdamW with a decaying learning rate."""
    optimizer = ut.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.99), weight_decay=0.1)
    schedule = ut.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps, eta_min=RATE / 10)
    start, shown = time.perf_counter(), f"{unread_loss(model, unread):.3f}"
    for step in range(1, steps + 1):
        loss = loss_of(model, text)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % max(steps // 8, 1) == 0:
            shown = f"{unread_loss(model, unread):.3f}"
        bar(step, steps, f"loss {loss.item():.3f}, on unread text {shown}", start)


def write(model: Gpt, letters: list[str], start: str, count: int) -> str:
    """Continues `start` character by character, each sampled from the model's distribution."""
    model.eval()
    codes = ut.tensor([[letters.index(c) for c in start]])
    with ut.no_grad():
        for _ in range(count):
            logits = model(codes[:, -CONTEXT:])[:, -1] / 0.8
            codes = ut.cat([codes, ut.multinomial(ut.softmax(logits, -1), 1)], 1)
    return "".join(letters[c] for c in codes[0].tolist())


def record_step(model: Gpt, text: ut.Tensor) -> Path:
    """Records a forward and a backward pass; returns where the page is that shows them."""
    page = Path("demo.html").absolute()
    with ut.inspect.record(forward=True, values=True) as recording:
        loss_of(model, text).backward()
    recording.to_html(page)
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1609)
    args = parser.parse_args()
    ut.manual_seed(args.seed)
    text = TEXT.read_text()
    letters = sorted(set(text))
    data = ut.tensor([letters.index(c) for c in text])
    model = Gpt(len(letters))
    cut = len(data) * 9 // 10
    before = unread_loss(model, data[cut:])
    print(f"Training: a GPT of {sum(p.numel() for p in model.parameters()):,} parameters on {cut:,} letters of Shakespeare's sonnets")
    train(model, data[:cut], data[cut:], args.steps)
    print("Its own lines:\n")
    print("\n".join("    " + line for line in write(model, letters, "When ", 400).splitlines()))
    after = unread_loss(model, data[cut:])
    if after >= before:
        print(f"FAILED: unread text surprises it as much as before: {before:.3f}, {after:.3f}")
        return 1
    print(f"\nok: unread text surprised it by {before:.2f} nats a letter before, and by {after:.2f} now")
    print(f"One step of its training, to look at in a browser: {record_step(model, data[:cut])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
