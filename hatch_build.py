"""Build hooks of the package: the native kernels, where they can be compiled, and the README."""

import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NATIVE = Path("src", "regard", "engine", "native")


class NativeKernels(BuildHookInterface):  # type: ignore[misc]
    """The shared library in the wheel, or beside its sources where the install is editable."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is packed; its tag names the platform if that succeeded."""
        if self.target_name != "wheel":
            return
        native = _load_build(Path(self.root) / NATIVE / "compile.py")
        folder = native.FOLDER
        if version != "editable":
            self.temporary = tempfile.TemporaryDirectory()
            folder = Path(self.temporary.name)
        browser = os.environ.get("REGARD_WHEEL") == "wasm32"
        if browser:  # for Pyodide: JupyterLite, marimo; needs ziglang
            native.build_wasm(folder)
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{native.WASM_PLATFORM}"
        elif (outcome := native.build(folder)).library:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{native.platform_tag()}"
        else:
            self.app.display_warning(f"No native kernels, NumPy will serve: {outcome.reason}.")
        if version != "editable":
            for path in folder.iterdir():
                build_data["force_include"][str(path)] = f"regard/engine/native/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder that the library was compiled in."""
        if hasattr(self, "temporary"):
            self.temporary.cleanup()


class LongDescription(MetadataHookInterface):  # type: ignore[misc]
    """The README, its links into the repository made addresses: an index shows it by itself."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        documentation, source = (metadata["urls"][x] for x in ("Documentation", "Source"))
        text = re.sub(r"\]\(docs/(?:\w+/)*([\w-]+\.webp)\)", rf"]({documentation}_images/\1)", text)
        text = re.sub(r"\]\(docs/([\w-]+)\.md(#[\w-]+)?\)", rf"]({documentation}\1.html\2)", text)
        text = re.sub(r"\]\((?![a-z]+:|#)", f"]({source}/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _load_build(path: Path) -> Any:
    """The build module by its path: the package cannot be imported before it is installed."""
    spec = importlib.util.spec_from_file_location("regard_native_build", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be read.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
