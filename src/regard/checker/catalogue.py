"""The catalogue in Markdown, for docs/check.md: python -m regard.checker.catalogue."""

from regard.checker.mistakes import CATALOGUE, Mistake


def in_markdown() -> str:
    """Every mistake: its name, what it does and why it looks plausible, the fix."""
    return "\n".join(_entry(mistake) for mistake in CATALOGUE)


def _entry(mistake: Mistake) -> str:
    return f"### {mistake.name}\n\n{mistake.about}\n\n```python\n{mistake.fix}\n```\n"


if __name__ == "__main__":
    print(in_markdown())
