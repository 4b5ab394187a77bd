"""The samples are data: pytest neither collects nor imports them."""

collect_ignore_glob = ["*.py", "*/*.py"]
