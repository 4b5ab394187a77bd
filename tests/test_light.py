"""import regard is light, and its names hold in any order of imports."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import regard

MODULES = ("errors", "distributed")
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


def test_help_needs_no_torch():
    """The base install has none: every public name is there, those of torch refuse a call."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import inspect, pydoc, regard\n"
        "inspect.getmembers(regard), pydoc.render_doc(regard)\n"
        "pydoc.render_doc(regard.distributed)\n"
        "print(hasattr(regard, 'distributed'))\n"
        "print(regard.distributed.positions(8, rank=1, ranks=2, layout='zigzag'))\n"
        "try: regard.distributed.observe(1, 2, 3)\n"
        "except regard.RegardError as error: print(error)"
    )
    assert fresh(code).splitlines() == [
        "True",
        "[2 3 4 5]",
        "regard.distributed needs torch: pip install 'regard[models]'.",
    ]


@pytest.mark.parametrize("name", [x for x in regard.__all__ if x not in MODULES])
def test_no_folder_or_file_has_the_name_of_a_public_function(name):
    # A folder that git left behind for its bytecode is not one of ours.
    package = Path(regard.__file__).parent
    top = {path.stem for path in package.glob("*.py")}
    top |= {path.parent.name for path in package.glob("*/*.py")}
    assert name not in top


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


def test_dir_lists_the_public_names_and_nothing_else():
    assert dir(regard) == sorted(regard.__all__)


FUNCTIONS = [name for name in regard.__all__ if name[0].islower() and name not in MODULES]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_signature_is_short(name):
    """What ``help`` shows first is one readable line or two."""
    assert len(f"{name}{inspect.signature(getattr(regard, name))}") < 300


@pytest.mark.parametrize("name", [x for x in FUNCTIONS if x != "check"])  # it hands some on
def test_a_public_function_lists_its_keywords(name):
    kinds = {x.kind for x in inspect.signature(getattr(regard, name)).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
