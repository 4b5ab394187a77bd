"""QK-clip in a dozen lines: no score stays above a limit, with the exact maxima of a monitor.

After each step the query and key weights of a head whose largest score was above the limit are
scaled by the root of limit / largest, as in MuonClip (Kimi K2, arXiv 2507.20534). Fused kernels
hide the scores; regard.monitor bounds them by the log-sum-exp that the kernels return, and computes
exact maxima of heads whose bound is above the limit alone.
"""

from typing import Any

import torch

LIMIT = 30.0


@torch.no_grad()
def qk_clip(monitor: Any, model: torch.nn.Module, limit: float = LIMIT) -> None:
    """Clip the heads of modules with ``q_proj`` and ``k_proj``, one key head to a query head."""
    for path, largest_h in monitor.max_scores(threshold=limit).items():
        attention = model.get_submodule(path)
        factor_h = (limit / largest_h).clamp(max=1).sqrt()  # 1 where a score is not above it
        for projection in (attention.q_proj, attention.k_proj):
            rows_of_head = projection.weight.unflatten(0, (len(factor_h), -1))
            rows_of_head.mul_(factor_h[:, None, None])


def main() -> None:
    """Train a small model with a learning rate that is too high, with and without clipping."""
    from transformers import LlamaConfig, LlamaForCausalLM

    import regard

    config = LlamaConfig(
        vocab_size=50, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4,
    )  # fmt: skip
    for clipped in (False, True):
        torch.manual_seed(0)
        model = LlamaForCausalLM(config)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
        with regard.monitor(model, threshold=LIMIT, on_alert=lambda _: None) as monitor:
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
