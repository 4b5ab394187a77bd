"""The explorer as static files: Python and the kernels run in the visitor's browser."""
