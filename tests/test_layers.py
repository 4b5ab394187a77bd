"""A folder imports only from folders above it; objects reach the view only when they are shown."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "regard"
ORDER = (
    "text",
    "textbook",
    "engine",
    "heads",
    "experiments",
    "transformer",
    "watcher",
    "checker",
    "corpus",
    "view",
    "cli",
)
FREE = ("errors", "typing", "display", "atomic_write", "blas", "png", "progress")
FILES = sorted(path for folder in ORDER for path in (SOURCE / folder).rglob("*.py"))


def layer(module: str) -> str:
    """'regard.text.vectors' is in 'text'; the package itself stands above all."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every module of regard that is imported, and whether inside a function or for types only."""
    inside = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) or _is_for_types(node)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"regard.{a.name}" for a in node.names] if node.module == "regard" else []
            modules = names or [node.module or ""]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        yield from ((m, id(node) in inside) for m in modules if m.split(".")[0] == "regard")


def _is_for_types(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def faults(path: Path) -> list[str]:
    own = path.relative_to(SOURCE).parts[0]
    found = []
    for module, inside in imports(ast.parse(path.read_text(encoding="utf-8"))):
        other = layer(module)
        later = inside and other == "view"  # a result has its picture as a method
        if own == "cli" or other in (*FREE, "__version__") or later:
            continue
        if other not in ORDER or ORDER.index(other) > ORDER.index(own):
            found.append(f"{own} imports {module}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_upwards(path):
    assert faults(path) == []


@pytest.mark.parametrize("name", FREE)
def test_the_top_imports_nothing_below(name):
    tree = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8"))
    assert {layer(module) for module, _ in imports(tree)} <= {
        *FREE,
        "view",
        "text",
        "textbook",
        "engine",
    }
