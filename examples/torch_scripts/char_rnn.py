"""A character-level recurrent language model: learns to predict the next character, then writes some text."""

import torch
from common import TEXT, arguments, progress, report
from torch import nn, optim


class CharRnn(nn.Module):
    def __init__(self, letters, width):
        super().__init__()
        self.encoder = nn.Embedding(letters, width)
        self.rnn = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.decoder = nn.Linear(width, letters)

    def forward(self, x, hidden=None):
        output, hidden = self.rnn(self.encoder(x), hidden)
        return self.decoder(output), hidden


def sample(model, letters, start, count):
    codes, hidden, x = [], None, torch.tensor([[letters.index(c) for c in start]])
    model.eval()
    with torch.no_grad():
        for _ in range(count):
            logits, hidden = model(x, hidden)
            x = torch.multinomial(torch.softmax(logits[:, -1] / 0.7, dim=-1), 1)
            codes.append(x.item())
    return start + "".join(letters[c] for c in codes)


def main():
    args = arguments(__doc__, steps=300, width=64, length=48, batch=16)
    text = TEXT.read_text()
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text])
    model = CharRnn(len(letters), args.width)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for step in progress(args.steps, "training"):
        starts = torch.randint(0, len(data) - args.length - 1, (args.batch,))
        window = torch.stack([data[s : s + args.length + 1] for s in starts])
        optimizer.zero_grad()
        output, _ = model(window[:, :-1])
        loss = criterion(output.reshape(-1, len(letters)), window[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        report(step, loss=loss.item())
    print(sample(model, letters, "When ", 120))


if __name__ == "__main__":
    main()
