"""The command ``regard``, also as ``python -m regard``."""

from __future__ import annotations


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly, also while it is still being imported."""
    try:
        from regard.cli import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
