"""QK-clip: after each step no head has a score above a limit, by the exact maxima of a monitor.

The queries and keys of a head whose largest score was above the limit are scaled so that it becomes
the limit, as in MuonClip (Kimi K2, arXiv 2507.20534). Query heads that share a key head: the keys
are scaled for the loudest of them, by the root of its factor, and each query head by what is left.
Fused kernels hide scores; ``regard.monitor(..., exact_scores=True)`` computes the largest ones.
"""

from typing import Any

import torch

LIMIT = 30.0


@torch.no_grad()
def qk_clip(monitor: Any, model: torch.nn.Module, limit: float = LIMIT) -> None:
    """Clip the heads of modules with ``q_proj`` and ``k_proj``, of any number of key heads."""
    for path, largest_h in monitor.max_scores().items():
        attention = model.get_submodule(path)
        key_heads = attention.k_proj.out_features // attention.head_dim
        factor_h = (limit / largest_h).clamp(max=1)  # 1 where a score is not above it
        factor_h[largest_h <= 0] = 1
        of_key = factor_h.view(key_heads, -1).amin(dim=1).sqrt()
        of_query = factor_h / of_key.repeat_interleave(len(factor_h) // key_heads)
        for projection, own_h in ((attention.q_proj, of_query), (attention.k_proj, of_key)):
            for numbers in projection.parameters():  # weight, and bias where there is one
                rows_of_head = numbers.unflatten(0, (len(own_h), -1))
                rows_of_head.mul_(own_h.view(-1, *[1] * numbers.ndim))


def main() -> None:
    """Train a small model with a learning rate that is too high, with and without clipping."""
    from transformers import LlamaConfig, LlamaForCausalLM

    import regard

    config = LlamaConfig(
        vocab_size=50, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    for clipped in (False, True):
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
        with regard.monitor(model, exact_scores=True, on_alert=lambda _: None) as monitor:
            for _ in range(60):
                half = torch.randint(0, 50, (8, 16))
                ids = torch.cat([half, half], dim=1)
                model(input_ids=ids, labels=ids).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                if clipped:
                    qk_clip(monitor, model)
            model(input_ids=ids, labels=ids)  # what the last step left behind
            largest = max(float(x.max()) for x in monitor.max_scores().values())
        print(f"{'with' if clipped else 'without'} QK-clip: largest score {largest:.1f}")


if __name__ == "__main__":
    main()
