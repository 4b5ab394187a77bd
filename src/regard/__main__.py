"""The command ``regard``, also as ``python -m regard``."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly, while it is imported and while it ends too."""
    try:
        from regard.cli import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
