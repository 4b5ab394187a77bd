"""import regard is light, and its names hold in any order of imports."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "rich", "typer", "sentencepiece", "safetensors", "matplotlib", "transformers")


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.smoke
@pytest.mark.parametrize("use", ["", "regard.self_attention([[1.0]], [[1.0]], [[1.0]], [[1.0]])"])
def test_nothing_heavy_is_imported(use):
    code = f"import regard, sys\n{use}\nprint([name for name in {HEAVY} if name in sys.modules])"
    assert fresh(code) == "[]"


@pytest.mark.parametrize(
    "first",
    [
        "import regard",
        "import regard.self_attention",
        "from regard.self_attention.steps import Steps",
        "from regard.self_attention import observe",
        "import regard.errors",
        "import regard.cli",
        "from regard import self_attention",
        "import regard.view.terminal",
    ],
)
def test_the_function_wins_over_the_folder_of_its_name(first):
    code = (
        f"{first}\n"
        "import regard, regard.self_attention.explain.why, regard.self_attention.backends\n"
        "from regard.self_attention.steps import Steps\n"
        "found = regard.self_attention([[1.0]], [[1.0]], [[1.0]], [[1.0]])\n"
        "print(type(found) is Steps is regard.Steps)"
    )
    assert fresh(code) == "True"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from regard.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('torch', 'sentencepiece', 'rich') if name in sys.modules])"
    )
    assert fresh(code).endswith("[]")


def test_an_unknown_name():
    code = "import regard\ntry: regard.attend\nexcept AttributeError as error: print(error)"
    assert fresh(code) == "module 'regard' has no attribute 'attend'"
