"""Something to look at, made of any result: text, a picture, a page, a worksheet.

``RENDERERS`` says which function draws which type in which form. Both are named by their path, so
that looking one up imports that one alone (``regard.display.render``).
"""

from __future__ import annotations

_PAGE = {
    "html": "regard.view.page.notebook:in_notebook",
    "marimo": "regard.view.page.widget:in_marimo",
    "widget": "regard.view.page.widget:widget",
}
RENDERERS: dict[str, dict[str, str]] = {
    "regard.display.NotebookDisplay": _PAGE,
    "regard.textbook.steps.Steps": {
        "text": "regard.view.terminal.render:as_text",
        "picture": "regard.view.figure.build:picture_of_steps",
        "worksheet": "regard.view.worksheet.worksheet:worksheet",
    },
    "regard.textbook.examples.story.Example": {"text": "regard.view.terminal.render:as_text"},
    "regard.engine.observation.Observation": {
        "picture": "regard.view.figure.build:picture_of_observation",
    },
    "regard.transformer.reading.Reading": {
        "text": "regard.view.terminal.reading_text:page",
        "picture": "regard.view.figure.build:picture_of_reading",
    },
    "regard.transformer.combine.Mixed": {
        "text": "regard.view.terminal.reading_text:mixed_table",
        "picture": "regard.view.figure.build:picture_of_mixed",
    },
    "regard.transformer.alignment.Alignment": {
        "text": "regard.view.terminal.reading_text:alignment_table",
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
        "text": "regard.view.terminal.watch_text:summary",
        "page": "regard.view.page.offline:offline_page",
    },
    "regard.watcher.changes.text_sources.TextSources": {
        "text": "regard.view.terminal.experiment_text:sources_page",
    },
    "regard.watcher.media.image_attention.ImageAttention": {
        "text": "regard.view.terminal.image_text:image_text",
        "svg": "regard.view.figure.image_picture:image_svg",
        "image": "regard.view.figure.image_picture:image_content",
    },
    "regard.watcher.measures.head_report.HeadReport": {
        "text": "regard.view.terminal.watch_text:report_text",
    },
    "regard.watcher.measures.needle.NeedleReport": {
        "text": "regard.view.terminal.research_text:needle_page",
    },
    "regard.watcher.measures.head_clusters.HeadClusters": {
        "text": "regard.view.terminal.research_text:clusters_page",
    },
    "regard.watcher.measures.links.LinkAgreement": {
        "text": "regard.view.terminal.research_text:agreement_page",
    },
    "regard.watcher.measures.run_comparison.RunComparison": {
        "text": "regard.view.terminal.research_text:comparison_page",
    },
    "regard.watcher.measures.sinks.SinkReport": {
        "text": "regard.view.terminal.research_text:sinks_page",
    },
    "regard.checker.report.Report": {"text": "regard.view.terminal.check:report_text"},
    "regard.checker.sheets.SheetReport": {
        "text": "regard.view.terminal.check:sheet_text",
    },
    "regard.corpus.survey.Survey": {
        "text": "regard.view.terminal.survey_text:summary",
        "page": "regard.view.page.offline:survey_page",
    },
}
