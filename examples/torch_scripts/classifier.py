"""Image classification of digits, which the program draws itself."""

import torch
import torch.nn.functional as F
from common import arguments, digits, progress, report
from torch import nn, optim


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.drop = nn.Dropout(0.1)
        self.fc1 = nn.Linear(16 * 3 * 3, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.norm(self.conv1(x))))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.drop(torch.flatten(x, 1))
        return self.fc2(F.relu(self.fc1(x)))


def main():
    args = arguments(__doc__, steps=200, model="mlp", batch=64)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, labels = digits(1024)
    held_out, truth = digits(256)
    net = (Cnn() if args.model == "cnn" else Mlp()).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)
    for step in progress(args.steps, "training"):
        chosen = torch.randint(0, len(images), (args.batch,))
        inputs, targets = images[chosen].to(device), labels[chosen].to(device)
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        schedule.step()
        report(step, loss=loss.item())
    net.eval()
    with torch.no_grad():
        _, predicted = torch.max(net(held_out.to(device)), 1)
    print(f"right on {(predicted.cpu() == truth).float().mean().item():.1%} of {len(truth)} new digits")


if __name__ == "__main__":
    main()
