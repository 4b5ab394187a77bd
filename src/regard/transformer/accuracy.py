"""How often the pronoun head is right: the one place that says it, from the figures of heads.json.

What a learner's own sentence can expect comes first: sentences that people wrote, set aside before
anything was measured on them. Generated sentences, which are like those of the training, come
second. Brackets have 95 % ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.display import percent

# The largest weight of a row at and above which the head is called sure. Chosen on stories kept out
# of training (model/judge/sure_limit.py): from there on right in 9 of 10, from 0.99 on in 8 of 10.
SURE = 0.999
CHANCE = 0.5  # two nouns, each of them right in one sentence of a pair


@dataclass(frozen=True)
class PronounAccuracy:
    """The judge's figures of the pronoun head, in words."""

    everyday: Mapping[str, Any] = field(default_factory=dict)
    generated: Mapping[str, Any] = field(default_factory=dict)
    no_antecedent: Mapping[str, Any] = field(default_factory=dict)
    no_antecedent_harder: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_measured(cls, measured: Mapping[str, Any]) -> PronounAccuracy:
        """The figures of heads.json; none where nothing was judged."""
        judge = measured.get("judge", {})
        names = {"everyday": "everyday", "generated": "contrast_pairs"}
        names |= {x: x for x in ("no_antecedent", "no_antecedent_harder")}
        return cls(**{name: judge.get(key, {}) for name, key in names.items()})

    @property
    def short(self) -> str:
        """As in: right in 74 % of sentences that people wrote with it, in 72 % with they."""
        if not self.everyday:
            return f"right in {self._generated_share} of generated sentences"
        shares = [
            f"{right_percent(x['right'])} {'' if i else 'of sentences that people wrote '}"
            f"with {_joined(names, 'or')}"
            for i, (names, x) in enumerate(self._groups)
        ]
        return f"right in {', in '.join(shares)}; in {self._generated_share} of generated ones"

    @property
    def summary(self) -> str:
        """The whole of it: by pronoun, where the head is sure and where not, and generated ones."""
        if not self.everyday:
            return f"{self._only_generated}."
        told = [f"with {_joined(names, 'and')} {_told(x)}" for names, x in self._groups]
        certainty = self.everyday["certainty"]
        sure, doubt = (certainty["pronouns"]["it"][x] for x in ("sure", "in doubt"))
        return (
            f"In {self.everyday['sentences']:,} sentences that people wrote in everyday words, "
            f"where chance is {percent(CHANCE)}, the pronoun head picks the right one of two nouns "
            f"as follows (95 % ranges in brackets): {'; '.join(told)}. Where it puts "
            f"{limit(certainty['sure_from'])} or more on one word it is called sure, and with "
            f"'it' it is then right in {_ranged(sure)}; otherwise it is in doubt, and right in "
            f"{_ranged(doubt)}.{_after(self.falsely_sure)} In generated sentences, of the kind it "
            f"was trained on, it is right in {self._generated_share}, all pronouns together."
        )

    def of(self, pronoun: str, weight: float, *, of_object: bool = False) -> str:
        """How often the head is right with a pronoun, and where its largest weight is as here."""
        figures = self.everyday.get("pronouns", {}).get(pronoun)
        if figures is None:
            return f"How often it is right with '{pronoun}' has not been measured."
        kinds = self.generated.get("kinds", {})
        kind = kinds.get(f"{pronoun}, object" if of_object else pronoun) or kinds.get(pronoun)
        such = (
            f"'{pronoun}'{' as an object' if f'{pronoun}, object' in kinds and of_object else ''}"
        )
        generated = (
            f"; in generated ones with {such}, in {right_percent(kind['right'])}" if kind else ""
        )
        told = (
            f"In sentences that people wrote with '{pronoun}' it is {_told(figures, '95 % range ')}"
        )
        return f"{told}{generated}. {self._here(pronoun, weight)}"

    def brief(self, pronoun: str, weight: float) -> str:
        """As in: then it is right in 86 % of sentences that people wrote."""
        certainty = self.everyday.get("certainty", {}).get("pronouns", {}).get(pronoun)
        if certainty is None:
            return ""
        figures = certainty["sure" if weight >= SURE else "in doubt"]
        chance = ", no better than chance" if _is_chance(figures) else ""
        right = right_percent(figures["right"])
        return f"Then it is right in {right} of sentences that people wrote{chance}."

    def doubt(self, pronoun: str, weight: float) -> str:
        """'sure', 'in doubt' or 'not measured'.

        Sure is a head that puts SURE or more on one word, where that was measured to be right more
        often than chance.
        """
        certainty = self.everyday.get("certainty", {}).get("pronouns", {}).get(pronoun)
        if certainty is None:
            return "not measured"
        return "sure" if weight >= SURE and not _is_chance(certainty["sure"]) else "in doubt"

    @property
    def falsely_sure(self) -> str:
        """As in: of 124 sentences in which 'it' stands for nothing, it was sure of a noun in 5."""
        texts = self.no_antecedent, self.no_antecedent_harder
        counted = [x for x in texts if "sure_of_a_word" in x]
        if not counted:
            return ""
        number, sure = (sum(x[key] for x in counted) for key in ("sentences", "sure_of_a_word"))
        return (
            f"Of {number} sentences in which 'it' stands for nothing, it was sure of a word in "
            f"{sure or 'none'}."
        )

    def nothing(self) -> str:
        """What it means that the head rests on (end), and how well it does that."""
        told = "It rests on (end): it takes the pronoun to stand for nothing, as in 'it is raining'"
        if not self.no_antecedent:
            return f"{told}."
        number, on_end = (self.no_antecedent[x] for x in ("sentences", "weight_on_end"))
        return f"{told}. In {number} such sentences it puts {right_percent(on_end)} there."

    def _here(self, pronoun: str, weight: float) -> str:
        certainty = self.everyday["certainty"]["pronouns"][pronoun]
        if self.doubt(pronoun, weight) == "sure":
            for_nothing = self.falsely_sure if pronoun == "it" else ""
            return (
                f"Here it is sure ({limit(SURE)} or more on one word), and where it is sure it is "
                f"right in {_ranged(certainty['sure'])} of sentences in which '{pronoun}' stands "
                f"for one of two nouns.{_after(for_nothing)}"
            )
        if weight >= SURE:
            return "So it is in doubt here, though it puts nearly everything on one word."
        return (
            f"Here it is in doubt (less than {limit(SURE)} on any one word), and where it is in "
            f"doubt it is right in {_ranged(certainty['in doubt'])}."
        )

    @property
    def _groups(self) -> list[tuple[tuple[str, ...], Mapping[str, Any]]]:
        """The figures by pronoun; he and she, which hardly differ and are few, together."""
        pronouns = self.everyday["pronouns"]
        alone: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [
            ((name,), x) for name, x in pronouns.items() if name not in ("he", "she")
        ]
        both = self.everyday.get("he and she", {})
        return [*alone, (("he", "she"), both)] if both.get("sentences") else alone

    @property
    def _generated_share(self) -> str:
        return right_percent(self.generated["right"]) if self.generated else "an unknown share"

    @property
    def _only_generated(self) -> str:
        if not self.generated:
            return "How often the pronoun head is right has not been measured"
        return (
            f"In generated sentences the pronoun head is right in {self._generated_share}; on "
            "sentences that people wrote it has not been measured"
        )


def right_percent(share: float) -> str:
    """A share of right answers in percent, which never rounds up to 100 %.

    >>> right_percent(0.742), right_percent(0.9977), right_percent(1.0)
    ('74 %', 'over 99 %', '100 %')
    """
    rounded = percent(share)
    return "over 99 %" if share < 1 and rounded == "100 %" else rounded


def limit(share: float) -> str:
    """A limit in percent, with all its digits.

    >>> limit(0.99), limit(0.999)
    ('99 %', '99.9 %')
    """
    return f"{100 * share:.6g} %"


def _after(sentence: str) -> str:
    return f" {sentence}" if sentence else ""


def _told(figures: Mapping[str, Any], name: str = "") -> str:
    """As in: right in 74 % (70 to 78)."""
    if _is_chance(figures):
        return f"no better than chance, {_ranged(figures, name)}"
    return f"right in {_ranged(figures, name)}"


def _ranged(figures: Mapping[str, Any], name: str = "") -> str:
    """As in: 74 % (70 to 78)."""
    low, high = (right_percent(x).removesuffix(" %") for x in figures["range"])
    return f"{right_percent(figures['right'])} ({name}{low} to {high})"


def _is_chance(figures: Mapping[str, Any]) -> bool:
    return "range" not in figures or bool(figures["range"][0] <= CHANCE)


def _joined(names: Sequence[str], word: str) -> str:
    return f" {word} ".join(f"'{name}'" for name in names)
