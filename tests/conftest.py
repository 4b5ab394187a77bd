"""What must be set before anything is imported: kernels run under Triton's interpreter here."""

import os

# Triton reads it when it is first imported, which the doctests of src do before any test.
os.environ.setdefault("TRITON_INTERPRET", "1")
