"""regard site: the explorer as static files, for any host or a stick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.io import check_output_file, show
from regard.errors import ArgumentError
from regard.progress import late_bar


def site(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder to build: new, empty, or an earlier site.")
    ] = None,
    *,
    file: Annotated[
        Path | None, typer.Option(help="Build one HTML file instead, which works offline.")
    ] = None,
    wheels: Annotated[
        Path | None,
        typer.Option(help="Folder with NumPy's wheel or Pyodide's archive, else both are fetched."),
    ] = None,
) -> None:
    """Build the explorer as a static site: the model computes in the visitor's browser.

    Put the folder on any static host; nothing runs there. Needs Node 20 and the
    extra 'regard[site]'; in a clone, make site installs it.
    """
    from regard.view.site.build import build_file, build_site

    if (folder is None) == (file is None):
        raise ArgumentError(
            "site takes a folder or --file, one of them: regard site FOLDER, or "
            "regard site --file explorer.html."
        )
    with late_bar("building the site") as progress:
        if file is not None:
            check_output_file("--file", file, (".html", ".htm"))
            built = build_file(file, wheels=wheels, progress=progress)
        elif folder is not None:
            built = build_site(folder, wheels=wheels, progress=progress)
    what = "one file, to open by a double click" if file else f"{len(built.sizes)} files to serve"
    show(f"Wrote {built.path}: {what}, {built.bytes / 1e6:.1f} MB, version {built.version}.")
