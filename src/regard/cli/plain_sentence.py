"""regard "A sentence" and nothing else: read and shown without a parser of options.

Typer's import takes as long as the whole reading.
"""

import os
import sys

from regard.cli.argument_checks import text_argument


def show_reading(sentence: str) -> None:
    """Print the page of a sentence, as ``read`` does without options."""
    if "numpy" not in sys.modules:
        # This command never uses the threads of NumPy's BLAS, which wait for work in a loop.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from regard.transformer.checkpoint import load_model
    from regard.transformer.reader import read
    from regard.view.terminal.reading_text import page
    from regard.view.terminal.style import terminal_style

    reading = read(text_argument("sentence", sentence), model=load_model())
    print(page(reading, style=terminal_style()))
