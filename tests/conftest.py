"""What must be set before anything runs: Triton's interpreter, and Ctrl-C that is heard."""

import os
import signal

# Triton reads it when it is first imported, which the doctests of src do before any test.
os.environ.setdefault("TRITON_INTERPRET", "1")

# A shell that starts a job in the background lets it ignore Ctrl-C, and so would every process the
# tests start in order to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)
