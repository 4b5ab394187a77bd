"""tools/kernels.py starts the tests as if on another processor, and says what failed where."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("kernels", ROOT / "tools" / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tests_find_the_kernel_and_the_features_in_their_environment(kernels, tmp_path, capsys):
    test = tmp_path / "test_pretended.py"
    test.write_text(
        "import os\n"
        "def test_kernel():\n"
        "    assert os.environ['OPENBLAS_CORETYPE'] == 'Prescott'\n"
        "def test_features():\n"
        "    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__\n"
        "    assert not any(__cpu_features__[name] for name in __cpu_dispatch__)\n"
    )
    assert kernels.main(["Prescott-baseline", "--tests", str(test)]) == 0
    assert kernels.main(["Haswell", "--tests", str(test)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("Prescott-baseline  2 passed")]
    assert [line for line in said if line.startswith("Haswell            ") and "failed" in line]


def test_a_kernel_that_the_processor_cannot_run_is_left_out(kernels, monkeypatch, capsys):
    monkeypatch.setattr(kernels, "TRY", "import os; os.abort()")
    assert kernels.main(["Zen"]) == 0
    assert capsys.readouterr().out.endswith(
        "Zen                skipped: this processor cannot run it\n"
    )


def test_an_unknown_kernel_is_refused(kernels, capsys):
    with pytest.raises(SystemExit):
        kernels.main(["Pentium"])
    assert ", got Pentium" in capsys.readouterr().err


def test_every_path_is_there(kernels):
    assert [x for x in (*kernels.TESTS, *kernels.LEFT_OUT) if not (ROOT / x).exists()] == []


def test_only_names_of_this_numpy_are_given(kernels):
    for processor in kernels.PROCESSORS:
        names = processor.environment().get("NPY_DISABLE_CPU_FEATURES", "").split()
        assert set(names) <= set(kernels.dispatched()), (processor, sys.version)
