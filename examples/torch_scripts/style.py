"""Neural style: L-BFGS changes the pixels of an image until its features match one image and their Gram matrices another.

The features are those of a convolutional network with random weights, which suffice for textures; the images are drawn here.
"""

import torch
import torch.nn.functional as F
from common import arguments, progress, report
from torch import nn, optim


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = gram_matrix(target).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


def draw(size):
    """A disc for the content, stripes for the style."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    disc = (x**2 + y**2 < 0.5).to(x.dtype)
    stripes = torch.sin(12 * (x + 0.5 * y)) * 0.5 + 0.5
    content = torch.stack([disc, 0.5 * disc, 1 - disc])
    style = torch.stack([stripes, 1 - stripes, stripes * x.abs()])
    return content.unsqueeze(0), style.unsqueeze(0)


def with_losses(content, style):
    """A small network with a loss after each convolution."""
    model, content_losses, style_losses, channels = nn.Sequential(), [], [], 3
    for i, width in enumerate((8, 16, 16)):
        model.add_module(f"conv_{i}", nn.Conv2d(channels, width, 3, padding=1))
        channels = width
        style_loss = StyleLoss(model(style))
        model.add_module(f"style_{i}", style_loss)
        style_losses.append(style_loss)
        if i == 1:
            content_loss = ContentLoss(model(content))
            model.add_module(f"content_{i}", content_loss)
            content_losses.append(content_loss)
        model.add_module(f"relu_{i}", nn.ReLU(inplace=False))
        model.add_module(f"pool_{i}", nn.AvgPool2d(2))
    return model, content_losses, style_losses


def main():
    args = arguments(__doc__, steps=20, size=32, weight=1e5)
    content, style = draw(args.size)
    model, content_losses, style_losses = with_losses(content, style)
    model.eval()
    model.requires_grad_(False)
    image = content.clone().requires_grad_(True)
    optimizer = optim.LBFGS([image], max_iter=5)
    for step in progress(args.steps, "painting"):
        losses = []

        def closure():
            with torch.no_grad():
                image.clamp_(0, 1)
            optimizer.zero_grad()
            model(image)
            loss = args.weight * sum(s.loss for s in style_losses) + sum(c.loss for c in content_losses)
            loss.backward()
            losses.append(loss.item())  # noqa: B023  # called within this step
            return loss

        optimizer.step(closure)
        report(step, loss=losses[0])
    with torch.no_grad():
        image.clamp_(0, 1)
    print(f"red, green and blue of the image: {', '.join(f'{v:.3f}' for v in image.mean((0, 2, 3)).tolist())}")


if __name__ == "__main__":
    main()
