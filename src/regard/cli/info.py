"""regard info: versions, cores, BLAS and available backends."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Annotated, Any

import typer

import regard
from regard.cli.io import show, show_json
from regard.engine.native.library import native_state
from regard.engine.tensors import BACKENDS
from regard.view.terminal.render import Sections

BASE_PACKAGES = (
    "numpy",
    "threadpoolctl",
    "safetensors",
    "typer",
    "rich",
    "starlette",
    "uvicorn",
)


def info(
    json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Show versions, cores, BLAS and backends, and why a backend is unavailable."""
    facts = gather()
    if json:
        show_json(facts)
        return
    show(Sections(_sections(facts)))


def gather() -> dict[str, Any]:
    """The facts by name; the version of a package that is not installed is None."""
    return {
        "regard": regard.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": {"usable": _usable_cores(), "in the machine": os.cpu_count()},
        "packages": {name: _version(name) for name in BASE_PACKAGES},
        "extras": {extra: {n: _version(n) for n in names} for extra, names in extras().items()},
        "blas": _blas(),
        "native kernels": str(native_state()),
        "backends": {b.name: {"about": b.about, "against": b.reasons_against()} for b in BACKENDS},
    }


def extras() -> dict[str, list[str]]:
    """The packages of each optional extra, from the package's own metadata."""
    packages: dict[str, list[str]] = {}
    try:
        lines = importlib.metadata.requires("regard") or []
    except importlib.metadata.PackageNotFoundError:  # run from its source, not installed
        lines = []
    for line in lines:
        requirement, _, marker = line.partition(";")
        if "extra ==" in marker:
            extra = marker.split("extra ==")[1].strip().strip("'\"")
            name = requirement.strip()
            end = next((i for i, c in enumerate(name) if c in "<>=!~[ "), len(name))
            packages.setdefault(extra, []).append(name[:end])
    return packages


def _sections(facts: dict[str, Any]) -> dict[str, dict[str, str]]:
    cores = facts["cores"]
    sections = {
        "machine": {
            "regard": facts["regard"],
            "python": facts["python"],
            "system": facts["system"],
            "cores": f"{cores['usable']} usable of {cores['in the machine']}",
            "BLAS": "; ".join(_describe_blas(b) for b in facts["blas"]) or "unknown",
            "native kernels": facts["native kernels"],
        },
        "packages": {name: version or "missing" for name, version in facts["packages"].items()},
        "optional": {
            f"regard[{extra}]": _describe_extra(extra, versions)
            for extra, versions in facts["extras"].items()
        },
        "backends": {
            name: _describe_backend(backend) for name, backend in facts["backends"].items()
        },
    }
    return {title: section for title, section in sections.items() if section}


def _describe_blas(blas: dict[str, Any]) -> str:
    return f"{blas['name']} {blas['version']}, {blas['threads']} threads, {blas['architecture']}"


def _describe_extra(extra: str, versions: dict[str, str | None]) -> str:
    listed = ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())
    missing = None in versions.values()
    return f"{listed}; to get it: pip install 'regard[{extra}]'" if missing else listed


def _describe_backend(backend: dict[str, Any]) -> str:
    against = backend["against"]
    return f"unavailable: {'; '.join(against)}" if against else f"available: {backend['about']}"


def _blas() -> list[dict[str, Any]]:
    import numpy as np
    from threadpoolctl import threadpool_info

    np.dot(np.ones((2, 2)), np.ones((2, 2)))
    return [
        {
            "name": library["internal_api"],
            "version": library["version"],
            "threads": library["num_threads"],
            "architecture": library.get("architecture") or "architecture unknown",
        }
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]


def _usable_cores() -> int:
    """Cores this process may use; containers and taskset may allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
