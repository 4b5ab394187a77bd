"""Something to look at, made of any result: text, a picture, a page, a worksheet.

``RENDERERS`` says which function draws which type in which form. Both are named by their path, so
that looking one up imports that one alone (``regard.display.render``).
"""

from __future__ import annotations

_PAGE = {
    "html": "regard.view.page.notebook:in_notebook",
    "marimo": "regard.view.page.notebook:in_marimo",
    "widget": "regard.view.page.notebook:widget",
}
RENDERERS: dict[str, dict[str, str]] = {
    "regard.display.NotebookDisplay": _PAGE,
    "regard.textbook.steps.Steps": {
        "text": "regard.view.terminal.render:as_text",
        "picture": "regard.view.figure.results:steps_picture",
        "worksheet": "regard.view.worksheet.worksheet:worksheet",
    },
    "regard.textbook.examples.story.Example": {"text": "regard.view.terminal.render:as_text"},
    "regard.engine.observation.Observation": {
        "picture": "regard.view.figure.results:observation_picture",
    },
    "regard.transformer.reading.Reading": {
        "text": "regard.view.terminal.reading:page",
        "picture": "regard.view.figure.results:reading_picture",
    },
    "regard.transformer.combine.Mixed": {
        "text": "regard.view.terminal.reading:mixed_table",
        "picture": "regard.view.figure.results:mixed_picture",
    },
    "regard.transformer.alignment.Alignment": {
        "text": "regard.view.terminal.reading:alignment_table",
    },
    "regard.experiments.experiment.Experiment": {
        "text": "regard.view.terminal.experiment_text:experiment_page",
        "html": "regard.view.page.experiment_html:experiment_html",
        "picture": "regard.view.figure.experiment_picture:picture_of_experiment",
    },
    "regard.experiments.effects.Effects": {
        "text": "regard.view.terminal.experiment_text:effects_page",
        "html": "regard.view.page.experiment_html:effects_html",
        "picture": "regard.view.figure.experiment_picture:picture_of_effects",
    },
    "regard.experiments.because.ScoreDecomposition": {
        "text": "regard.view.terminal.experiment_text:decomposition_page",
    },
    "regard.watcher.seen.Seen": {
        "text": "regard.view.terminal.watch:summary",
        "page": "regard.view.page.embed:offline_page",
    },
    "regard.watcher.changes.text_sources.TextSources": {
        "text": "regard.view.terminal.experiment_text:sources_page",
    },
    "regard.watcher.media.image_attention.ImageAttention": {
        "text": "regard.view.terminal.watch:image_text",
        "svg": "regard.view.figure.image:image_svg",
        "image": "regard.view.figure.image:image_content",
    },
    "regard.watcher.measures.head_report.HeadReport": {
        "text": "regard.view.terminal.watch:report_text",
    },
    "regard.watcher.measures.needle.NeedleReport": {
        "text": "regard.view.terminal.watch:needle_page",
    },
    "regard.watcher.measures.head_clusters.HeadClusters": {
        "text": "regard.view.terminal.watch:clusters_page",
    },
    "regard.watcher.measures.links.LinkAgreement": {
        "text": "regard.view.terminal.watch:agreement_page",
    },
    "regard.watcher.measures.run_comparison.RunComparison": {
        "text": "regard.view.terminal.watch:comparison_page",
    },
    "regard.watcher.measures.sinks.SinkReport": {
        "text": "regard.view.terminal.watch:sinks_page",
    },
    "regard.checker.report.Report": {"text": "regard.view.terminal.check:report_text"},
    "regard.checker.sheets.SheetReport": {
        "text": "regard.view.terminal.check:sheet_text",
    },
    "regard.corpus.survey.Survey": {
        "text": "regard.view.terminal.survey:summary",
        "page": "regard.view.page.embed:survey_page",
    },
}
