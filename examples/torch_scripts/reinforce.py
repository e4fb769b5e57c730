"""REINFORCE: a policy learns to balance a pole on a cart, from the returns of whole episodes. A step is an episode."""

import math
import random
from collections import deque

import torch
from common import arguments, progress, report
from torch import nn, optim
from torch.distributions import Categorical


class CartPole:
    """A pole hinged on a cart that is pushed left or right; over when the pole leans or the cart leaves the track."""

    gravity, cart, pole, half_length, force, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, seed):
        self.random = random.Random(seed)

    def reset(self):
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, action):
        x, speed, angle, turn = self.state
        force = self.force if action == 1 else -self.force
        total, lever = self.cart + self.pole, self.pole * self.half_length
        push = (force + lever * turn**2 * math.sin(angle)) / total
        bend = self.half_length * (4 / 3 - self.pole * math.cos(angle) ** 2 / total)
        turning = (self.gravity * math.sin(angle) - math.cos(angle) * push) / bend
        moving = push - lever * turning * math.cos(angle) / total
        self.state = [x + self.tau * speed, speed + self.tau * moving, angle + self.tau * turn, turn + self.tau * turning]
        return self.state, 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.affine2 = nn.Linear(64, 2)

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=1)


def select_action(policy, state):
    probs = policy(torch.tensor(state, dtype=torch.get_default_dtype()).unsqueeze(0))
    m = Categorical(probs)
    action = m.sample()
    return action.item(), m.log_prob(action)


def discounted(rewards, gamma):
    returns, running = deque(), 0.0
    for reward in reversed(rewards):
        running = reward + gamma * running
        returns.appendleft(running)
    returns = torch.tensor(list(returns), dtype=torch.get_default_dtype())
    return (returns - returns.mean()) / (returns.std() + torch.finfo(returns.dtype).eps)


def main():
    args = arguments(__doc__, steps=120, gamma=0.99)
    env = CartPole(args.seed)
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    running = 10.0
    for episode in progress(args.steps, "episodes"):
        state, rewards, log_probs = env.reset(), [], []
        for _ in range(500):
            action, log_prob = select_action(policy, state)
            state, reward, done = env.step(action)
            rewards.append(reward)
            log_probs.append(log_prob)
            if done:
                break
        optimizer.zero_grad()
        loss = torch.cat([-p * r for p, r in zip(log_probs, discounted(rewards, args.gamma))]).sum()
        loss.backward()
        optimizer.step()
        running = 0.05 * len(rewards) + 0.95 * running
        report(episode, loss=loss.item(), length=len(rewards))
    print(f"the pole stays up for about {running:.0f} steps")


if __name__ == "__main__":
    main()
