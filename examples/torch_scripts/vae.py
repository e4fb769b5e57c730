"""A variational autoencoder of digits: the loss is the reconstruction error plus the divergence from the standard normal."""

import torch
import torch.nn.functional as F
from common import arguments, digits, progress, report
from torch import nn, optim


class Vae(nn.Module):
    def __init__(self, pixels, hidden=96, latent=8):
        super().__init__()
        self.fc1 = nn.Linear(pixels, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, pixels)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(x.size(0), -1))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(reconstruction, x, mu, logvar):
    bce = F.binary_cross_entropy(reconstruction, x.view(x.size(0), -1), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def main():
    args = arguments(__doc__, steps=300, batch=64)
    images, _ = digits(1024)
    images = images.clamp(0, 1)
    model = Vae(images[0].numel())
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for step in progress(args.steps, "training"):
        data = images[torch.randint(0, len(images), (args.batch,))]
        optimizer.zero_grad()
        reconstruction, mu, logvar = model(data)
        loss = loss_function(reconstruction, data, mu, logvar) / len(data)
        loss.backward()
        optimizer.step()
        report(step, loss=loss.item())
    with torch.no_grad():
        sample = model.decode(torch.randn(1, 8)).view(12, 12)
    for row in sample:
        print("".join(" .:*#"[int(4.99 * v)] for v in row.tolist()))


if __name__ == "__main__":
    main()
