"""Rules that no maintained tool checks: axis letters against einsum, reasons of skips.

Every test lists all faults of its kind at once.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "regard"
FILES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
TESTS = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for pattern in ("tests/**/*.py", "model/tests/**/*.py")
    for path in ROOT.glob(pattern)
}
# Endings of names that have no vowel, as axes have none, and are words all the same.
NOT_AXES = {"by", "chrf", "csv", "cxx", "html", "my", "nccl", "ptr", "rng", "svg", "ty", "xml",
            "xy", "y"}  # fmt: skip
AXES = re.compile(r"[a-z0-9_]*[a-z0-9]_([b-hj-np-tv-xz]{1,5})")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE if SOURCE in path.parents else ROOT))


def none(faults: Mapping[str, object] | Sequence[str]) -> None:
    """Fail with all the faults, one a line, however many there are."""
    pairs = faults.items() if isinstance(faults, Mapping) else ((fault, "") for fault in faults)
    assert not faults, "\n" + "\n".join(sorted(f"{key} {value}" for key, value in pairs))


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Names that the source itself gives to anything: what it only uses may be another's."""
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def test_packages_delete_no_names() -> None:
    """No folder has the name of a public function, so none has to be deleted from a package."""
    faults = [
        name(path)
        for path, tree in FILES.items()
        if path.name == "__init__.py" and any(isinstance(x, ast.Delete) for x in ast.walk(tree))
    ]
    none(faults)


def axis_letters() -> set[str]:
    """The letters of the table in docs/design.md."""
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = re.search(r"\| letter \| axis \|.*\n\|-.*\n((?:\|.*\n)+)", design)
    assert table is not None
    cells = [row.split("|") for row in table[1].splitlines()]
    return {letter for row in cells for cell in row[1::2] for letter in re.findall("[a-z]", cell)}


def test_axis_letters_are_in_the_table() -> None:
    faults = defaultdict(set)
    for path, tree in FILES.items():
        for identifier in bound_names(tree):
            axes = AXES.fullmatch(identifier)
            if axes and axes[1] not in NOT_AXES and not set(axes[1]) <= axis_letters():
                faults[name(path)].add(identifier)
    none(faults)


def test_axis_letters_are_the_einsum_subscripts() -> None:
    faults = []
    for path, tree in FILES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
                faults += [f"{name(path)}:{node.lineno} {x}" for x in einsum_faults(node)]
    none(faults)


def einsum_faults(statement: ast.stmt) -> Iterator[str]:
    """Names of a statement whose suffix is not what its einsum says of them."""
    value = getattr(statement, "value", None)
    for call in (x for x in ast.walk(statement) if isinstance(x, ast.Call)):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        if called != "einsum" or not isinstance(call.args[0], ast.Constant):
            continue
        inputs, _, output = str(call.args[0].value).replace(" ", "").partition("->")
        pairs = list(zip(call.args[1:], inputs.split(","), strict=True))
        if isinstance(statement, ast.Assign) and value is call:
            pairs += [(target, output) for target in statement.targets]
        for operand, subscripts in pairs:
            if isinstance(operand, ast.Name):
                axes = AXES.fullmatch(operand.id)
                if axes and axes[1] not in NOT_AXES and axes[1] != subscripts:
                    yield f"{operand.id} is {subscripts!r} there"


def test_the_einsum_rule_sees_a_wrong_name() -> None:
    right = ast.parse('scores_hqk = np.einsum("hqd,hkd->hqk", query_hqd, key_hkd)').body[0]
    wrong = ast.parse('scores_hkq = np.einsum("hqd,hkd->hqk", query_hqd, key_hkd)').body[0]
    assert list(einsum_faults(right)) == []
    assert list(einsum_faults(wrong)) == ["scores_hkq is 'hqk' there"]


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_a_skip_says_why(path: Path) -> None:
    """pytest.skip needs its text; the marks and importorskip need reason=."""
    faults = []
    for call in (x for x in ast.walk(TESTS[path]) if isinstance(x, ast.Call)):
        called = ast.unparse(call.func).rpartition(".")[2]
        reasons = [x for x in call.keywords if x.arg in ("reason", "msg")]
        if called in ("skipif", "importorskip", "xfail") and not reasons:
            faults.append(call.lineno)
        if called == "skip" and not (reasons or call.args):
            faults.append(call.lineno)
    assert faults == []
