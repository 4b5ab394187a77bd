"""Generated parts on the shipped model: sentences, scores, roles, the judge's figures, failures.

All of it comes from the shipped model itself, the files among its parameters, and its recipe.
"""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "src/regard/transformer/shipped"
RECIPES = ROOT / "model/recipe.toml", ROOT / "model/recipe-facts.toml"
HEADS = SHIPPED / "heads.json"
# The document's sentence and its twin, then three as a reader may try them; with each, the word
# that the pronoun's row should rest on.
SENTENCES = {
    "A dog ate the food because it was hungry": "dog",
    "A dog ate the food because it was delicious": "food",
    "I put the letter in the drawer because it was empty": "drawer",
    "The children fed the ducks because they were hungry": "ducks",
    "The cat stays in the house when it is raining": "(end)",
}
SAID = (
    "I am good",
    "Smart robots perform complex tasks",
    "The cat sat on the mat",
    "Where is the nearest train station?",
    "I have never seen such a beautiful garden",
)
# Rare words, names, two meanings, idioms, and genders that French has to choose.
DIFFICULT = (
    "The mitochondrion is the powerhouse of the cell",
    "The trophy does not fit in the suitcase because it is too small",
    "Please restart the router",
    "We sat on the bank of the river",
    "It is raining cats and dogs",
    "Mr. Okonkwo flew from Lisbon to Oslo",
    "THE DOG IS HUNGRY",
    "The nurse lost his keys",
    "The doctor lost her keys",
)
FAILURES = 1  # in the table of examples; the model card lists all of them below


def examples() -> str:
    """A table of sentences: the largest weights of the pronoun's row, and the French.

    The last ones are the first failures among the sentences written by hand.
    """
    return "\n".join([*_table(SENTENCES), *_failed_rows()])


def _failed_rows() -> list[str]:
    failed = [x for x in _judge()["by_hand"]["sentences"] if not x["right"]]
    rows = []
    for x in failed[:FAILURES]:
        noun, weight = list(x["weights"].items())[1]
        wrong = f"{noun} {_percent(weight)} (wrong: {x['pronoun']} stands for {x['stands_for']})"
        rows.append(f"| {x['sentence'].rstrip('.')} | {wrong} | {x['translation'].rstrip('.')} |")
    return rows


def accuracy() -> str:
    """How often the pronoun head is right, in the words of the command and of the page."""
    from regard.transformer.accuracy import PronounAccuracy

    return PronounAccuracy.from_measured(_measured()).summary


def everyday() -> str:
    """The sentences that people wrote: by pronoun, by kind, and by how sure the head is."""
    from regard.transformer.accuracy import limit

    measured = _judge()["everyday"]
    sure = f"largest weight {limit(measured['certainty']['sure_from'])} or more"
    both = {**measured["pronouns"], "he and she": measured["he and she"]}
    rows = {f"*{name}*": x for name, x in both.items() if name not in ("he", "she")}
    rows |= {name: x for name, x in measured["kinds"].items() if x != both[name.split(",")[0]]}
    for name, x in measured["certainty"]["pronouns"].items():
        rows |= {f"*{name}*, {sure}": x["sure"], f"*{name}*, less": x["in doubt"]}
    lines = ["| | sentences | right (95 % range) | both of a pair |", "|---|--:|--:|--:|"]
    lines += [
        f"| {name} | {x['sentences']} | {_ranged(x['right'], x['range'])} | "
        f"{_ranged(x['pairs_right'], x['pairs_range']) if 'pairs_right' in x else ''} |"
        for name, x in rows.items()
    ]
    numbers = _measured()["numbers"]
    copied = _ranged(numbers["copied"], numbers["range"])
    told = (
        f"All numbers are right in {copied} of {numbers['sentences']} sentences with numbers, "
        "which were set aside in the same way. The likeliest translation has them in "
        f"{_percent(numbers['copied_by_the_likeliest'])}; where it has not, the search is repeated "
        "without the beginnings that have another number, and a note says so. The comparison of "
        "numbers that guides this search is also the one that counts here."
    )
    return "\n".join([*lines, "", told])


def _ranged(share: float, extent: list[float]) -> str:
    low, high = (_percent(x).removesuffix(" %") for x in extent)
    return f"{_percent(share)} ({low} to {high})"


def figures() -> str:
    """The judge's figures of the pronoun head, text by text."""
    judge, changed = _judge(), _judge()["contrast_pairs"]["changed"]
    pairs, by_hand = judge["contrast_pairs"], judge["by_hand"]
    nothing, harder = judge["no_antecedent"], judge["no_antecedent_harder"]
    turned = {x: changed[f"row turned to {x}"]["gender_right"] for x in ("right", "end")}
    follows = changed["row turned to wrong"]["gender_follows"]
    kinds = ", ".join(f"{name} {_percent(x['right'])}" for name, x in pairs["kinds"].items())
    rows = [
        (f"{pairs['pairs']:,} contrast pairs, {len(pairs['frames'])} frames: right in a sentence "
         "/ in both of a pair", _both(pairs)),
        ("by kind of pronoun", kinds),
        ("the right noun has the largest weight of the row", _percent(pairs["largest_of_the_row"])),
        *((f"generated pairs, {cell}", _both(x)) for cell, x in _cells(judge)),
        (f"{by_hand['pairs']} pairs written by hand", _both(by_hand)),
        ("French gender right where the nouns differ",
         _percent(pairs["french_pronoun"]["right_where_genders_differ"])),
        ("row turned to the wrong noun: French gender follows", _percent(follows)),
        ("row turned to the right noun: French gender right", _percent(turned["right"])),
        ("row turned to (end): French gender right", _percent(turned["end"])),
        ("head switched off: French gender right",
         _percent(changed["head switched off"]["gender_right"])),
        *((f"*it* that stands for nothing, {x['sentences']} {name}: largest weight on (end) / sure "
           "of a word", f"{x['largest_on_end']} / {x['sure_of_a_word']}")
          for name, x in (("sentences", nothing), ("harder ones", harder))),
    ]  # fmt: skip
    return "\n".join(["| layer {layer}, head {head} | |".format(**judge["head"]), "|---|--:|",
                      *(f"| {name} | {value} |" for name, value in rows)])  # fmt: skip


def weakest_frames() -> str:
    """The frames in which the head is right least often."""
    frames = sorted(_judge()["contrast_pairs"]["frames"].items(), key=lambda x: x[1]["right"])
    named = [f"'{name}' {_percent(x['right'])}" for name, x in frames[:6]]
    return f"Right least often in the frames {'; '.join(named)}."


def failures_by_hand() -> str:
    """Every sentence written by hand that the head gets wrong."""
    from regard.display import percent

    lines = ["| sentence | stands for | looks more at | French |", "|---|---|---|---|"]
    for x in _judge()["by_hand"]["sentences"]:
        if not x["right"]:
            (_, first), (other, second) = x["weights"].items()
            shares = f"{other} ({percent(second)} against {percent(first)})"
            lines.append(f"| {x['sentence']} | {x['stands_for']} | {shares} | {x['translation']} |")
    return "\n".join(lines)


def scores() -> str:
    """BLEU and chrF as they stand in the description of the model."""
    measured = json.loads((SHIPPED / "model.json").read_text(encoding="utf-8"))["scores"]
    rows = [
        f"| {name} | {x['bleu']:.2f} | {x['chrf']:.2f} |"
        for name, x in measured.items()
        if isinstance(x, dict)
    ]
    on = [f"On {measured['on']}.", ""] if "on" in measured else []
    return "\n".join([*on, "| | BLEU | chrF |", "|---|--:|--:|", *rows])


def versions() -> str:
    """The shipped parameters beside those of earlier versions, on the project's own sentences."""
    measured = _of_these_parameters("versions")
    rows = [*_translation_rows(measured)]
    for name in ("it", "they", "he and she", "it, sure"):
        rows.append((
            f"*{name}*: right (95 % range), sentences", {
                x: f"{_ranged(y[name]['right'], y[name]['range'])}, {y[name]['sentences']}"
                for x, y in measured["pronouns"].items()
            },
        ))  # fmt: skip
    for name, shown in (("for nothing", "sentences"), ("for nothing, harder", "harder sentences")):
        figures = {x: y[name] for x, y in measured["pronouns"].items()}
        number = figures["shipped"]["sentences"]
        rows.append((
            f"*it* for nothing, {number} {shown}: largest weight on (end) / sure of a word",
            {x: f"{y['largest_on_end']} / {y['sure_of_a_word']}" for x, y in figures.items()},
        ))  # fmt: skip
    rows.append((
        "all numbers copied / by the likeliest translation", {
            x: f"{_percent(y['numbers']['copied'])} / "
            f"{_percent(y['numbers']['copied_by_the_likeliest'])}"
            for x, y in measured["pronouns"].items()
        },
    ))  # fmt: skip
    return _version_table(measured, rows)


def outside() -> str:
    """The same versions on sets that the project has not, as they were measured outside it."""
    measured = _of_these_parameters("outside")
    return _version_table(measured, [*_translation_rows(measured), *measured["counts"].items()])


def _of_these_parameters(name: str) -> dict[str, Any]:
    """Figures of several versions, which must have been measured on the shipped parameters."""
    measured: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    shipped = json.loads((SHIPPED / "model.json").read_text(encoding="utf-8"))["checksum"]
    if measured["models"]["shipped"] != shipped:
        raise ValueError(f"{name}.json has figures of other parameters: measure them again")
    return measured


def _translation_rows(measured: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    rows = []
    for name, one in measured["sets"].items():
        title = f"{name}, {one['sentences']:,} sentences"
        scores = {x: f"{y['bleu']:.2f} / {y['chrf']:.2f}" for x, y in one["models"].items()}
        rows.append((f"{title}: BLEU / chrF", scores))
        gained = {
            x: "{:+.2f} ({:+.2f} to {:+.2f})".format(*y["bleu_gained"])
            for x, y in one["models"].items()
            if "bleu_gained" in y
        }
        rows.append(("shipped has more BLEU than this (95 % range)", gained))
    return rows


def _version_table(measured: dict[str, Any], rows: list[tuple[str, dict[str, Any]]]) -> str:
    names = list(reversed(measured["models"]))
    sums = measured["models"]
    return "\n".join([
        f"Of {measured['date']}; {measured['with']}; {measured['bootstrap']}.",
        "",
        f"| | {' | '.join(f'{x} ({sums[x]})' for x in names)} |",
        f"|---|{'--:|' * len(names)}",
        *(f"| {x} | {' | '.join(str(y.get(name, '')) for name in names)} |" for x, y in rows),
    ])  # fmt: skip


def said() -> str:
    """Some sentences and their translations."""
    return _translations(SAID)


def difficult() -> str:
    """Sentences of the kinds that the model is bad at, and their translations."""
    return _translations(DIFFICULT)


def positions() -> str:
    """The clearest heads of position, and how clear alignment is."""
    measured = _measured()
    names = {"previous": "the word before", "next": "the word after", "same": "the word itself",
             "first": "the first word", "end": "the end of the sentence"}  # fmt: skip
    best = {x: max(measured["heads"]["encoder"], key=lambda row: row[x]) for x in names}
    shares = [
        f"layer {row['layer']}, head {row['head']} puts {_percent(row[x])} on {names[x]}"
        for x, row in best.items()
    ]
    alignment = measured["alignment"]
    heads = " and ".join(f"layer {x['layer']}, head {x['head']}" for x in alignment["heads"])
    return (
        f"- **Position**, on {measured['sentences']} sentences {measured['text']}: "
        f"{'; '.join(shares)}.\n"
        f"- **Alignment**, on the contrast pairs: in cross-attention {heads} sends "
        f"{_percent(alignment['right'])} of the French nouns back to their English noun."
    )


def rounds() -> str:
    """The rounds of the recipes."""
    recipes = [tomllib.loads(path.read_text(encoding="utf-8")) for path in RECIPES]
    lines = ["| round | minutes | learning rate | text |", "|---|--:|--:|---|"]
    for x in (part for recipe in recipes for part in recipe["round"]):
        text = ", ".join(_corpus(corpus) for corpus in x["corpus"])
        rate = f"{x['learning_rate']:g}" if "learning_rate" in x else ""
        length = f"{x['steps']} steps" if "steps" in x else x["minutes"]
        only = "; queries and keys of the pronoun head alone" if "trained" in x else ""
        lines.append(f"| {x['name']} | {length} | {rate} | {text}{only} |")
    return "\n".join(lines)


def _corpus(corpus: dict[str, Any]) -> str:
    made = corpus.get("made", "").partition(":")[0].rpartition(".")[2]
    name = Path(corpus.get("path", made)).name.split(".")[0]
    if made == "pronouns":
        name = f"{name} (pronouns)"
    copies = corpus.get("copies", 1)
    return name if copies == 1 else f"{name} x {copies:g}"


def _translations(sentences: tuple[str, ...]) -> str:
    from regard import read

    rows = [f"| {sentence} | {read(sentence).translation} |" for sentence in sentences]
    return "\n".join(["| English | French |", "|---|---|", *rows])


def teaching() -> str:
    """One paragraph: how the pronoun head came about, and the others."""
    measured = _measured()
    number = len(measured["heads"]["encoder"])
    if not measured["pronouns"].get("taught"):
        return (
            f"No head of this model was taught what a pronoun stands for, and of its {number} "
            "encoder heads none finds it more often than chance allows."
        )
    head = "layer {layer}, head {head}".format(**_judge()["head"])
    return (
        f"One encoder head, {head}, was taught: in training, besides the translation, its row of a "
        "pronoun was pulled to the noun that the pronoun stands for (or to (end) where there is "
        f"none), in sentences made for that. The other {number - 1} encoder heads were not. That "
        "it finds antecedents is therefore no discovery about transformers; that the model then "
        "translates by it is measured below."
    )


def _table(sentences: dict[str, str]) -> list[str]:
    from regard import read
    from regard.display import percent

    lines = ["| the model reads | its pronoun looks at | and it writes |", "|---|---|---|"]
    for sentence, antecedent in sentences.items():
        reading = read(sentence)
        shown = reading.highlight(next(x for x in reading.words if x.lower() in ("it", "they")))
        links = [(shown.link.key_word, shown.link.weight), *shown.others]
        shares = ", ".join(f"{word} {percent(weight)}" for word, weight in links)
        remarks = [shown.doubt]
        if shown.link.key_word != antecedent:
            remarks.append(f"wrong: {shown.link.query_word} stands for {antecedent}")
        shares += f" ({'; '.join(remarks)})"
        but = " (disagrees with its head)" if shown.disagreement else ""
        lines.append(f"| {sentence} | {shares} | {reading.translation}{but} |")
    return lines


@cache
def _measured() -> dict[str, Any]:
    measured: dict[str, Any] = json.loads(HEADS.read_text(encoding="utf-8"))
    return measured


def _judge() -> dict[str, Any]:
    judge: dict[str, Any] = _measured()["judge"]
    return judge


def _cells(judge: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, x) for name, x in judge["generator_cells"].items() if name != "text"]


def _both(shares: dict[str, Any]) -> str:
    return f"{_percent(shares['right'])} / {_percent(shares['pairs_right'])}"


def _percent(share: float | None) -> str:
    from regard.transformer.accuracy import right_percent

    return "-" if share is None else right_percent(share)


PARTS = {
    "scores": scores,
    "versions": versions,
    "outside": outside,
    "said": said,
    "difficult": difficult,
    "positions": positions,
    "rounds": rounds,
    "antecedents": examples,
    "accuracy": accuracy,
    "everyday": everyday,
    "judge": figures,
    "weakest": weakest_frames,
    "failures": failures_by_hand,
    "teaching": teaching,
}
