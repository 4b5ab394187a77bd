"""Rules of the source, read from it: names, sizes, words, axis letters, reasons of skips.

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
TESTS = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.glob("tests/**/*.py")}
KERNELS = SOURCE / "engine" / "gpu" / "kernels"
PRIVATE_WORDS = {"place", "found", "held", "told", "said", "kept", "whole", "here", "there",
                 "wanted"}  # fmt: skip
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


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def doubled(owners: dict[str, list[str]]) -> dict[str, list[str]]:
    return {key: files for key, files in owners.items() if len(files) > 1}


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


def words(identifier: str) -> set[str]:
    """The words of an identifier.

    >>> sorted(words("_HeldOut_keys"))
    ['held', 'keys', 'out']
    """
    return set(re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", identifier).lower()))


def test_no_two_files_share_a_name() -> None:
    owners = defaultdict(list)
    for path in FILES:
        if path.name != "__init__.py":
            owners[path.name].append(name(path))
    none(doubled(owners))


def test_no_two_classes_share_a_name() -> None:
    owners = defaultdict(list)
    for path, tree in FILES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(name(path))
    none(doubled(owners))


def test_files_are_not_too_long() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    limit = {path: 500 if KERNELS in path.parents else 400 for path in FILES}
    none({name(path): n for path, n in lines.items() if n > limit[path]})


def test_functions_are_not_too_long() -> None:
    faults = {}
    for path, tree in FILES.items():
        for node in functions(tree):
            size = (node.end_lineno or 0) - node.lineno + 1
            if size > (90 if KERNELS in path.parents else 60):
                faults[f"{name(path)}:{node.name}"] = size
    none(faults)


def test_functions_have_few_positional_parameters() -> None:
    faults = {}
    for path, tree in FILES.items():
        for node in functions(tree):
            positional = [x.arg for x in (*node.args.posonlyargs, *node.args.args)]
            number = len([x for x in positional if x not in ("self", "cls")])
            if number > 7 and KERNELS not in path.parents:
                faults[f"{name(path)}:{node.name}"] = number
    none(faults)


def test_a_small_file_serves_more_than_one_other() -> None:
    """A file of less than 40 lines that one other imports belongs into that one."""
    importers = defaultdict(set)
    for path, tree in FILES.items():
        for module in imported(tree):
            importers[module].add(path)
    faults = []
    for path in FILES:
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        short = len(path.read_text(encoding="utf-8").splitlines()) < 40
        public = path.parent == SOURCE  # a module of the package itself has a name for users
        if path.name != "__init__.py" and not public and short and len(importers[module]) == 1:
            faults.append(name(path))
    none(faults)


def imported(tree: ast.AST) -> Iterator[str]:
    """Modules that a file imports; 'from a import b' may mean the module a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_packages_delete_no_names() -> None:
    """No folder has the name of a public function, so none has to be deleted from a package."""
    faults = [
        name(path)
        for path, tree in FILES.items()
        if path.name == "__init__.py" and any(isinstance(x, ast.Delete) for x in ast.walk(tree))
    ]
    none(faults)


def test_names_are_the_fields_words() -> None:
    faults = defaultdict(set)
    for path, tree in FILES.items():
        for identifier in bound_names(tree):
            if words(identifier) & PRIVATE_WORDS:
                faults[name(path)].add(identifier)
    none({path: sorted(names) for path, names in faults.items()})


def test_the_glossary_is_short() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = re.search(r"\| word \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", design)
    assert table is not None
    assert len(table[1].splitlines()) <= 20


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
