"""The documentation site: Sphinx over the Markdown of this folder and the docstrings.

``make docs-site`` builds it with warnings as errors. Two directives put results on a page: the help
of a command, and the picture that some code draws. At the end every link of the site is followed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import regard
from regard.cli import main

LOGGER = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Where make site publishes it: the documentation is below it. Alone, the documentation has no link.
EXPLORER = "../" if tags.has("explorer") else None  # noqa: F821 (Sphinx defines tags)
EXPLORER_LINK = '<a class="first" href="../">Open the explorer</a>\n'
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]

project, author = "regard", "The regard authors"
version = release = regard.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"regard {release}"
html_baseurl = URLS["Documentation"]
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static", "../src/regard/view/web/fonts"]
html_css_files = ["docs.css"]
templates_path = ["_templates"]
html_context = {"theme_explorer": EXPLORER}
html_math_renderer = "mathml"
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what is meant, and signatures stay short
napoleon_google_docstring = False
napoleon_use_rtype = False


class Help(SphinxDirective):
    """``{help} watch``: what ``regard watch --help`` prints."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The text as a block."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([*self.arguments, "--help"])
        text = printed.getvalue().strip()
        return [nodes.literal_block(text, text, language="text")]


class Picture(SphinxDirective):
    """``{picture}``: code, and the picture that its last expression is."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The code as it stands, then what it draws, as SVG in the page."""
        code = "\n".join(self.content)
        tree, names = ast.parse(code), {}
        last = tree.body.pop()
        exec(compile(tree, "page", "exec"), names)  # noqa: S102 (our own page)
        picture = eval(compile(ast.Expression(last.value), "page", "eval"), names)  # noqa: S307
        drawn = f'<p class="drawn">{picture._repr_svg_()}</p>'
        block = nodes.literal_block(code, code, language="python")
        return [block, nodes.raw("", drawn, format="html")]


def link_to_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Make links that leave docs/ links to the repository; pictures are copied from there.

    The link to the explorer stays only where the explorer is published beside the pages.
    """
    if EXPLORER is None:
        source[0] = source[0].replace(EXPLORER_LINK, "")

    def moved(found: re.Match[str]) -> str:
        path = (DOCS / found[2]).resolve()
        if path.is_relative_to(DOCS) or found[1].startswith("!"):
            return found[0]
        return f"{found[1]}({URLS['Source']}/{path.relative_to(ROOT).as_posix()}"

    source[0] = re.sub(r"(!?\[[^\]]*\])\((?![a-z]+:|#)([^)#\s]+)", moved, source[0])


def math(visitor: Any, node: nodes.Element) -> None:
    """A formula as MathML, which browsers set by themselves."""
    visitor.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def tidy(app: Sphinx, kind: str, name: str, what: Any, options: Any, lines: list[str]) -> None:
    """Make of a docstring what numpydoc and reStructuredText expect, before napoleon reads it.

    A description that begins beside its parameter, ``head : its number from 0.``, goes to a line of
    its own, where no type is meant; and the bars of a norm, |v|, are not a substitution.
    """
    lines[:] = [line.replace("|", r"\|") for line in lines]
    for i in reversed(range(len(lines))):
        found = re.fullmatch(r"(\*{0,2}\w[\w, *]*) : (.+)", lines[i])
        follows = lines[i + 1].strip() if i + 1 < len(lines) else ""
        if found and (found[2].endswith(".") or (follows and not follows[0].isupper())):
            lines[i : i + 1] = [found[1], f"    {found[2]}"]


def hide_constructor(app: Sphinx, kind: str, *about: Any) -> tuple[str, None] | None:
    """Results are made by functions: the arguments of their classes are nobody's business."""
    return ("", None) if kind == "class" else None


class Links(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = {""}
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect one element."""
        at = {name: value or "" for name, value in attrs}
        self.ids.add(at.get("id", ""))
        if tag == "a" and "href" in at:
            self.targets.append(at["href"])
        elif tag in ("img", "script") and "src" in at:
            self.loaded.append(at["src"])
        elif tag == "link" and at.get("rel") in ("stylesheet", "icon", "search"):
            self.loaded.append(at["href"])


def follow_links(app: Sphinx, error: Exception | None) -> None:
    """Warn where a link inside the site leads nowhere, or a page loads something from elsewhere."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in out.rglob("*.html")}
    for path, page in pages.items():
        for target in [*page.targets, *page.loaded]:
            if fault := _fault(target, path, pages):
                LOGGER.warning("%s links to %s, %s", path.name, target, fault)


def _fault(target: str, path: Path, pages: dict[Path, Links]) -> str:
    """What is wrong with a link, or nothing."""
    parts = urlsplit(target)
    if target == EXPLORER:
        return ""
    if parts.scheme or parts.netloc:
        elsewhere = target in pages[path].loaded and parts.scheme != "data"
        return "a file of another host" if elsewhere else ""
    to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not to.is_file():
        return "which is not there"
    missing = to in pages and unquote(parts.fragment) not in pages[to].ids
    return "which has no such heading" if missing else ""


def setup(app: Sphinx) -> None:
    """Tell Sphinx about the above."""
    app.add_directive("help", Help)
    app.add_directive("picture", Picture)
    app.connect("autodoc-process-docstring", tidy, priority=400)
    app.connect("autodoc-process-signature", hide_constructor)
    app.connect("source-read", link_to_repository)
    app.add_html_math_renderer("mathml", (math, None), (math, None))
    app.connect("build-finished", follow_links)
