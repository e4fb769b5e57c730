"""A word language model: an LSTM with truncated backpropagation through time and tied input and output weights."""

import math

import torch
from common import TEXT, arguments, progress, report
from torch import nn


class Model(nn.Module):
    def __init__(self, words, width, layers=2):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=0.2)
        self.decoder = nn.Linear(width, words)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, x, state):
        out, state = self.rnn(self.drop(self.encoder(x)), state)
        return self.decoder(self.drop(out)).flatten(0, 1), state

    def start(self, batch):
        weight = next(self.parameters())
        return tuple(weight.new_zeros(self.rnn.num_layers, batch, self.rnn.hidden_size) for _ in range(2))


def detached(state):
    """The state's values, detached from the steps that computed them."""
    return state.detach() if isinstance(state, torch.Tensor) else tuple(detached(part) for part in state)


def stream(batch):
    """The text as word indices, in `batch` columns, and the size of the vocabulary."""
    words = TEXT.read_text().lower().split()[:6000]
    number = {word: i for i, word in enumerate(sorted(set(words)))}
    numbers = torch.tensor([number[word] for word in words])
    length = len(numbers) // batch
    return numbers.narrow(0, 0, length * batch).view(batch, -1).t().contiguous(), len(number)


def main():
    args = arguments(__doc__, steps=100, width=64, length=20, batch=8)
    data, words = stream(args.batch)
    model = Model(words, args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.25, patience=20)
    loss_of = nn.CrossEntropyLoss()
    state, at = model.start(args.batch), 0
    for step in progress(args.steps, "training"):
        if at + args.length >= len(data):
            state, at = model.start(args.batch), 0
        x, y = data[at : at + args.length], data[at + 1 : at + args.length + 1]
        at += args.length
        state = detached(state)
        optimizer.zero_grad()
        out, state = model(x, state)
        loss = loss_of(out, y.flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        schedule.step(loss.item())
        report(step, loss=loss.item(), perplexity=math.exp(loss.item()), norm=norm)


if __name__ == "__main__":
    main()
