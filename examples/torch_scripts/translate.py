"""Sequence to sequence: one GRU reads a word, another with attention writes it backward, with teacher forcing part of the time."""

import random

import torch
import torch.nn.functional as F
from common import arguments, progress, report
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

START, END, LETTERS, LENGTH = 0, 1, 20, 8


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(LETTERS, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.gru(self.dropout(self.embedding(x)))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.score = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, query, keys):
        scores = self.score(torch.tanh(self.query(query) + self.key(keys))).squeeze(2).unsqueeze(1)
        return torch.bmm(F.softmax(scores, dim=-1), keys)


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(LETTERS, width)
        self.attention = Attention(width)
        self.gru = nn.GRU(2 * width, width, batch_first=True)
        self.out = nn.Linear(width, LETTERS)

    def forward(self, keys, hidden, target=None):
        letter = torch.full((len(keys), 1), START)
        outputs = []
        for i in range(LENGTH):
            context = self.attention(hidden.permute(1, 0, 2), keys)
            output, hidden = self.gru(torch.cat((self.embedding(letter), context), dim=2), hidden)
            output = self.out(output)
            outputs.append(output)
            if target is not None and random.random() < 0.7:
                letter = target[:, i : i + 1]
            else:
                letter = output.topk(1).indices.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1)


def main():
    args = arguments(__doc__, steps=200, batch=16, width=32)
    random.seed(args.seed)
    words = torch.randint(2, LETTERS, (512, LENGTH))
    words[:, -1] = END
    target = torch.cat([words[:, :-1].flip(1), words[:, -1:]], dim=1)
    loader = DataLoader(TensorDataset(words, target), batch_size=args.batch, shuffle=True)
    encoder, decoder = Encoder(args.width), Decoder(args.width)
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
    batches = iter(loader)
    for step in progress(args.steps, "training"):
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
        loss = F.nll_loss(decoder(*encoder(x), y).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, loss=loss.item())


if __name__ == "__main__":
    main()
