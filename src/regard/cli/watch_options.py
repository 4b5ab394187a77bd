"""Options of `regard watch` that change a run, or ask more of the heads than one text shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.argument_checks import text_argument
from regard.cli.output import show_json
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.watcher.files.model_folder import Loaded
    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching

AblatedOption = Annotated[
    list[str] | None, typer.Option(help="Head that writes nothing, as 3.6 or cross.3.6.")
]
HiddenOption = Annotated[
    list[str] | None, typer.Option(help="Word that no other may look at; may be repeated.")
]
TurnedOption = Annotated[
    list[str] | None, typer.Option(help="Put a row on another word, as it:food:3.6.")
]
ToOption = Annotated[str, typer.Option(help="What an ablated head writes: zero or mean.")]
NextOption = Annotated[
    str, typer.Option(help="Effect of every head on the next token, WORD or WORD:WORD.")
]
NeedleOption = Annotated[
    bool, typer.Option("--needle", help="Retrieval heads: a needle put into the text, or our own.")
]
LinksOption = Annotated[
    Path | None, typer.Option(help="Agreement of heads with a CoNLL-U file or a table of links.")
]
WeightedOption = Annotated[
    str, typer.Option(help="'norm': a report of norm-weighted weights as well.")
]


@dataclass(frozen=True)
class WatchOptions:
    """What to change in a run, and what to ask beside it."""

    ablate: Sequence[str] = ()
    knock_out: Sequence[str] = ()
    redirect: Sequence[str] = ()
    to: str = "zero"
    effects: str = ""
    weighted: str = ""

    def check(self) -> None:
        """Raise what can be wrong without the model."""
        from regard.engine.call import check_weighted
        from regard.experiments.changes import check_ablation

        check_ablation(self.to)
        if self.to != "zero" and not (self.ablate or self.effects):
            raise ArgumentError(
                f"--to {self.to} needs --ablate or --effects: it says what an ablated head writes."
            )
        check_weighted(self.weighted or None)
        for text in self.ablate:
            _head("--ablate", text)
        for text in self.redirect:
            _turn(text)

    @property
    def changes(self) -> bool:
        """Whether something is changed."""
        return any((self.ablate, self.knock_out, self.redirect))

    def applied(self, watching: Watching) -> Watching:
        """The block with the changes."""
        for text in self.ablate:
            part, layer, head = _head("--ablate", text)
            watching = watching.ablate(layer, head, part=part, to=self.to)
        if self.knock_out:
            words = [text_argument("--knock-out", word) for word in self.knock_out]
            watching = watching.knock_out(*words)
        for text in self.redirect:
            word, to, part, layer, head = _turn(text)
            watching = watching.redirect(word, to, layer, head, part=part)
        return watching

    def results(self, seen: Seen) -> dict[str, Any]:
        """What was asked beside the report, by name, each with a text and ``to_dict``."""
        from regard.progress import late_bar

        results: dict[str, Any] = {"sinks": seen.sinks()}
        if self.changes:
            results["outcome"] = seen.outcome
        if self.effects:
            of, _, against = text_argument("--effects", self.effects).partition(":")
            with late_bar("heads") as notice:
                results["effects"] = seen.effects(of, against or None, to=self.to, progress=notice)
        if self.weighted:
            results["norm_weighted"] = seen.report(self.weighted)
        return results


def show_heads(
    loaded: Loaded, options: WatchOptions, text: str, links: Path | None, heads: int, json: bool
) -> None:
    """Print the retrieval heads of a text, or the agreement of heads with links."""
    from regard.view.terminal.research_text import agreement_page, needle_page
    from regard.view.terminal.style import terminal_style
    from regard.watcher.watch import watch

    watching = options.applied(watch(loaded.model, tokenizer=loaded.tokenizer))
    if links is not None:
        agreement = watching.link_agreement(links)
        shown = agreement_page(agreement, terminal_style(), max(heads, 1))
        values = agreement.to_dict()
    else:
        report = watching.needle(text)
        shown, values = needle_page(report, terminal_style(), max(heads, 1)), report.to_dict()
    if json:
        show_json(values)
    else:
        print(shown)


def _head(option: str, text: str) -> tuple[str | None, int, int]:
    *front, layer, head = text.strip().rsplit(".", 2) if text.count(".") else ("", "", "")
    if not layer.isdecimal() or not head.isdecimal():
        raise ArgumentError(
            f"{option} needs a layer and a head, as in 3.6 or cross.3.6, but it is {text!r}."
        )
    return front[0] if front else None, int(layer), int(head)


def _turn(text: str) -> tuple[str, str, str | None, int, int]:
    word, _, rest = text_argument("--redirect", text).partition(":")
    to, _, head = rest.partition(":")
    if not word or not to or not head:
        raise ArgumentError(
            f"--redirect needs two words and a head, as in it:food:3.6, but it is {text!r}."
        )
    return word, to, *_head("--redirect", head)
