"""Proximal policy optimization on a linear system: a normal policy, generalized advantage estimation, the clipped objective."""

import torch
from common import arguments, progress, report
from torch import nn, optim
from torch.distributions import Normal


def layer(inside, out, gain=2**0.5):
    made = nn.Linear(inside, out)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.constant_(made.bias, 0.0)
    return made


class ActorCritic(nn.Module):
    def __init__(self, states=4, actions=2, width=32):
        super().__init__()
        self.actor = nn.Sequential(layer(states, width), nn.Tanh(), layer(width, actions, 0.01))
        self.critic = nn.Sequential(layer(states, width), nn.Tanh(), layer(width, 1, 1.0))
        self.log_std = nn.Parameter(torch.zeros(actions))

    def policy(self, state):
        mean = self.actor(state)
        return Normal(mean, self.log_std.exp().expand_as(mean))

    def value(self, state):
        return self.critic(state).squeeze(-1)


@torch.no_grad()
def rollout(model, A, B, runs, length):
    """States, actions, their log-probabilities, advantages and returns."""
    state = torch.randn(runs, 4)
    states, actions, log_probs, rewards, values = [], [], [], [], []
    for _ in range(length):
        policy = model.policy(state)
        action = policy.sample()
        states.append(state)
        actions.append(action)
        log_probs.append(policy.log_prob(action).sum(-1))
        values.append(model.value(state))
        state = state @ A.T + action.clamp(-1, 1) @ B.T
        rewards.append(-state.pow(2).sum(-1) - 0.1 * action.pow(2).sum(-1))
    values.append(model.value(state))
    advantage, advantages = 0, []
    for t in reversed(range(length)):
        delta = rewards[t] + 0.99 * values[t + 1] - values[t]
        advantage = delta + 0.99 * 0.95 * advantage
        advantages.insert(0, advantage)
    advantages = torch.stack(advantages)
    returns = advantages + torch.stack(values[:-1])
    parts = (torch.stack(states), torch.stack(actions), torch.stack(log_probs), advantages, returns)
    return [part.flatten(0, 1) for part in parts], torch.stack(rewards).sum(0).mean()


def main():
    args = arguments(__doc__, steps=60, runs=16, length=16)
    model = ActorCritic()
    optimizer = optim.Adam(model.parameters(), lr=3e-3, eps=1e-5)
    schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / (args.steps + 1))
    A, B = torch.eye(4) * 0.9 + torch.eye(4).roll(1, 1) * 0.1, torch.randn(4, 2) * 0.3
    for step in progress(args.steps, "training"):
        (states, actions, old, advantages, returns), reward = rollout(model, A, B, args.runs, args.length)
        for _ in range(2):
            for some in torch.randperm(len(states)).chunk(4):
                policy = model.policy(states[some])
                ratio = (policy.log_prob(actions[some]).sum(-1) - old[some]).exp()
                gain = advantages[some]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                actor = torch.max(-gain * ratio, -gain * ratio.clamp(0.8, 1.2)).mean()
                critic = 0.5 * (model.value(states[some]) - returns[some]).pow(2).mean()
                loss = actor + 0.5 * critic - 0.01 * policy.entropy().sum(-1).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
        schedule.step()
        report(step, loss=loss.item(), reward=reward.item())


if __name__ == "__main__":
    main()
