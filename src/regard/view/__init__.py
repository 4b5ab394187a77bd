"""Results to look at: as text, a picture, a page, a worksheet.

``RENDERERS`` says which function draws which type in which form. Both are named by their path, so
that looking one up imports that one alone (``regard.display.render``).
"""

from __future__ import annotations

_ROWS = (  # a type in regard, a form, a function in regard.view
    "display.NotebookDisplay html page.notebook:in_notebook",
    "display.NotebookDisplay marimo page.notebook:in_marimo",
    "display.NotebookDisplay widget page.notebook:widget",
    "textbook.steps.Steps text terminal.render:as_text",
    "textbook.steps.Steps picture figure.results:steps_picture",
    "textbook.steps.Steps worksheet worksheet.worksheet:worksheet",
    "textbook.examples.story.Example text terminal.render:as_text",
    "engine.observation.Observation picture figure.results:observation_picture",
    "transformer.reading.Reading text terminal.reading:page",
    "transformer.reading.Reading picture figure.results:reading_picture",
    "transformer.combine.Mixed text terminal.reading:mixed_table",
    "transformer.combine.Mixed picture figure.results:mixed_picture",
    "transformer.alignment.Alignment text terminal.reading:alignment_table",
    "experiments.experiment.Experiment text terminal.experiment_text:experiment_page",
    "experiments.experiment.Experiment html page.experiment_html:experiment_html",
    "experiments.experiment.Experiment picture figure.experiment_picture:picture_of_experiment",
    "experiments.effects.Effects text terminal.experiment_text:effects_page",
    "experiments.effects.Effects html page.experiment_html:effects_html",
    "experiments.effects.Effects picture figure.experiment_picture:picture_of_effects",
    "experiments.because.ScoreDecomposition text terminal.experiment_text:decomposition_page",
    "watcher.seen.Seen text terminal.watch:summary",
    "watcher.seen.Seen page page.embed:offline_page",
    "watcher.experiments.text_sources.TextSources text terminal.experiment_text:sources_page",
    "watcher.media.image_attention.ImageAttention text terminal.watch:image_text",
    "watcher.media.image_attention.ImageAttention svg figure.image:image_svg",
    "watcher.media.image_attention.ImageAttention image figure.image:image_content",
    "watcher.measures.head_report.HeadReport text terminal.watch:report_text",
    "watcher.measures.needle.NeedleReport text terminal.watch:needle_page",
    "watcher.measures.head_clusters.HeadClusters text terminal.watch:clusters_page",
    "watcher.measures.links.LinkAgreement text terminal.watch:agreement_page",
    "watcher.measures.run_comparison.RunComparison text terminal.watch:comparison_page",
    "watcher.measures.sinks.SinkReport text terminal.watch:sinks_page",
    "checker.report.Report text terminal.check:report_text",
    "sheets.SheetReport text terminal.check:sheet_text",
    "corpus.survey.Survey text terminal.survey:summary",
    "corpus.survey.Survey page page.embed:survey_page",
)
RENDERERS: dict[str, dict[str, str]] = {}
for _type, _form, _function in map(str.split, _ROWS):
    RENDERERS.setdefault(f"regard.{_type}", {})[_form] = f"regard.view.{_function}"
