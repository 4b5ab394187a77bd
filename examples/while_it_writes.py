"""Attention while a model writes: watch(model, on_step=f) gives the facts of every token.

python examples/while_it_writes.py

Three uses of one small interface, on a small untrained model of transformers:

* the lookback ratio (Chuang et al., arXiv 2407.07071): weight on the context against weight on
  what the model itself has written, of every head; low ratios accompany made-up answers;
* scores of keys for eviction from a cache: H2O (arXiv 2306.14048), the weight a key has received
  so far, and SnapKV (arXiv 2404.14469), what the last queries of the prompt give to each key;
* stop when the answer leaves the document: its share of the weight falls below a limit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import regard

LEFT = 0.2


def lookback_ratios(prompt: int, ratios: list[np.ndarray]) -> Callable[[Any], None]:
    """Append the lookback ratio (layers, b, h) of each written token."""

    def step(facts: Any) -> None:
        if facts.keys > prompt:  # the prompt itself has written nothing
            context = facts.share((0, prompt)) / prompt
            written = facts.share((prompt, facts.keys)) / (facts.keys - prompt)
            ratios.append(context / (context + written))

    return step


class H2O:
    """Weight that each key has received since the beginning, (layers, b, h, k)."""

    def __init__(self) -> None:
        self.received = np.zeros(0)

    def __call__(self, facts: Any) -> None:
        now = np.stack([seen.received for seen in facts.layers.values()])
        if self.received.size:
            now[..., : self.received.shape[-1]] += self.received
        self.received = now


def snapkv(facts: Any, window: int = 8) -> np.ndarray:
    """Weight of the last ``window`` queries of a prompt on each key before, (layers, b, h, k)."""
    summed: np.ndarray = facts.weights(rows=window)[..., :-window].sum(axis=-2)
    return summed


class LeftDocumentError(Exception):
    """The answer no longer looks at the document."""


def stop_outside(document: tuple[int, int], limit: float = LEFT) -> Callable[[Any], None]:
    """Raise once the mean weight of a token on the document, over heads, is below a limit."""

    def step(facts: Any) -> None:
        share = float(facts.share(document).mean())
        if share < limit:
            raise LeftDocumentError(f"token {facts.keys}: {share:.1%} of its weight")

    return step


def main() -> None:
    """Use all three on one prompt."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, eos_token_id=None, bos_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 50, (1, 24))

    ratios: list[np.ndarray] = []
    with regard.watch(model, on_step=lookback_ratios(24, ratios)):
        model.generate(ids, max_new_tokens=8, do_sample=False)
    print(f"Lookback ratio of the last token, mean over heads: {ratios[-1].mean():.3f}")

    h2o, prompts = H2O(), []
    with regard.watch(model, on_step=h2o):
        model.generate(ids, max_new_tokens=8, do_sample=False)
    with regard.watch(model, on_step=lambda facts: prompts.append(snapkv(facts))):
        model(ids)
    print(f"H2O keeps, in layer 0, head 0: {best(h2o.received[0, 0, 0])}")
    print(f"SnapKV keeps, in layer 0, head 0: {best(prompts[0][0, 0, 0])}")

    try:
        with regard.watch(model, on_step=stop_outside((0, 8), limit=0.25)):
            model.generate(ids, max_new_tokens=40, do_sample=False)
        print("The answer stayed with the document.")
    except LeftDocumentError as left:
        print(f"Stopped: the answer left the document at {left}.")


def best(scores: np.ndarray, number: int = 4) -> list[int]:
    """Keys with the largest scores, in their order."""
    return sorted(np.argsort(-scores)[:number].tolist())


if __name__ == "__main__":
    main()
