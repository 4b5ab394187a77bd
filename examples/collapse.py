"""Two trainings of one small model: one that goes well, and one whose attention collapses.

python examples/collapse.py [--steps 240] [--seeds 3] [--out runs] [--picture collapse.svg]

The task is to repeat: the second half of a sequence is its first half again, so the model has to
find the token that followed last time. The two trainings differ in the learning rate alone. There
is no QK norm, so nothing bounds the scores. Both are monitored, from several seeds; in two of three
the alert comes before the loss shows anything. Look at them afterwards: regard open runs/collapse
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

import regard

WORDS, HALF, WIDTH, HEADS, LAYERS, BATCH = 16, 12, 32, 4, 2, 16
RATES = {"good": 0.01, "collapse": 0.1}  # at the end of the warm-up
WARM_UP = 300


class Attention(nn.Module):
    """Causal self-attention by torch's kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x_bte: torch.Tensor) -> torch.Tensor:
        parts = self.mix(x_bte).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        output = scaled_dot_product_attention(*parts, is_causal=True)
        return self.out(output.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and a hidden layer, each after a norm and added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])
        self.hidden = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x_bte: torch.Tensor) -> torch.Tensor:
        x_bte = x_bte + self.attention(self.norms[0](x_bte))
        return x_bte + self.hidden(self.norms[1](x_bte))


class Model(nn.Module):
    """Tokens and positions, blocks, and the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(2 * HALF, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.next = nn.Linear(WIDTH, WORDS)

    def forward(self, ids_bt: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids_bt.shape[1])
        return self.next(self.blocks(self.words(ids_bt) + self.places(places)))


def repeated(random: torch.Generator) -> torch.Tensor:
    """Random sequences, each twice in a row."""
    half = torch.randint(0, WORDS, (BATCH, HALF), generator=random)
    return torch.cat([half, half], dim=1)


def train(rate: float, steps: int, folder: Path, seed: int = 0) -> Any:
    """Train with a learning rate; returns the closed monitor, whose history is in the folder."""
    torch.manual_seed(seed)
    random, model = torch.Generator().manual_seed(seed + 1), Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / WARM_UP)
    )
    with regard.monitor(model, every=5, to=folder, on_alert=lambda _: None) as monitor:
        for _ in range(steps):
            ids_bt = repeated(random)
            guess = model(ids_bt)[:, HALF - 1 : -1]  # of the second half
            loss = cross_entropy(guess.flatten(0, 1), ids_bt[:, HALF:].flatten())
            optimizer.zero_grad()
            loss.backward()
            monitor.log(loss=loss)
            optimizer.step()
            schedule.step()
    return monitor


MEAN_OVER, WORSE = 10, 0.5


def loss_shows(history: Any) -> int | None:
    """The first step at which the mean of 10 losses is half a nat above the lowest so far."""
    means = np.convolve(history.losses, np.ones(MEAN_OVER) / MEAN_OVER, mode="valid")
    worse = np.flatnonzero(means > np.minimum.accumulate(means) + WORSE)
    return int(history.all_steps[worse[0] + MEAN_OVER - 1]) if len(worse) else None


def draw(monitors: dict[str, Any], path: str) -> None:
    """Loss, largest score and smallest entropy of both trainings, with the first alert."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "collapse"  # the same picture in every run
    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(7, 6), layout="constrained")
    for name, monitor in monitors.items():
        history = monitor.history()
        axes[0].plot(history.all_steps, history.losses, label=f"{name}, {RATES[name]:g}")
        axes[1].plot(history.steps, history["score"].max(axis=1))
        axes[2].plot(history.steps, history["entropy_share"].min(axis=1))
        if monitor.alerts:
            for one in axes:
                one.axvline(monitor.alerts[0].first, color="crimson", linestyle=":")
            axes[0].text(monitor.alerts[0].first, 3.2, " first alert", color="crimson")
    for one, title in zip(axes, ("loss", "largest score", "smallest entropy share"), strict=True):
        one.set_ylabel(title)
    axes[1].set_yscale("log")
    axes[2].set_xlabel("step")
    axes[0].legend(title="learning rate")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Train both, say when the alert came and when the loss showed it, draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--picture", help="an .svg to draw (needs matplotlib)")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    monitors = {}
    for seed in range(chosen.seeds):
        for name, rate in RATES.items():
            print(f"seed {seed}, {name}, learning rate {rate:g} ...", flush=True)
            folder = chosen.out / (f"{name}-{seed}" if seed else name)
            monitors[name, seed] = monitor = train(rate, chosen.steps, folder, seed)
            history, alerts = monitor.history(), monitor.alerts
            print(f"  loss at the end {history.losses[-MEAN_OVER:].mean():.3f}")
            print(f"  first alert: {alerts[0] if alerts else 'none'}")
            print(f"  the loss shows it at step {loss_shows(history)}")
    if chosen.picture:
        draw({name: monitors[name, 0] for name in RATES}, chosen.picture)
    print(f"Look at it: regard open {chosen.out / 'collapse'}")


if __name__ == "__main__":
    main()
