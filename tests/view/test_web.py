"""What the page is made of: its own files, plain, small, and nothing from anywhere else."""

import ast
import gzip
import re

import pytest

from regard.view.figure import drawing, lines
from regard.view.page.server import static_files
from regard.view.page.single_file import (
    exported_names,
    module_imports,
    modules_in_order,
    web_files,
)

FILES = {name: content.decode() for name, (content, _) in static_files().items()}
SENT = ("", "app.js", "style.css", "icon.svg")  # what the page asks for
MODULES = {name: web_files()[name] for name in modules_in_order(web_files(), "app.js")}
LARGEST_PAGE = 248_000  # bytes; the fonts, which do not get smaller, are 71,000 of them


@pytest.mark.parametrize("name", MODULES)
def test_text_is_never_read_as_markup_or_code(name):
    never = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc"
    assert re.findall(never, MODULES[name]) == []


@pytest.mark.parametrize("name", FILES)
def test_nothing_comes_from_outside(name):
    found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"')]*", FILES[name])
    names = ("//", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")
    assert [x for x in found if not x.startswith(names)] == []
    assert "@import" not in FILES[name]


def test_the_page_has_no_script_or_style_of_its_own():
    page = FILES[""]
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page) == []


@pytest.mark.parametrize("name", MODULES)
def test_modules_can_be_joined(name):
    """An import is a list of names, an export stands before its declaration."""
    text = MODULES[name]
    for line in re.findall(r"^import.*|^export.*|^.*\bimport\(.*", text, re.MULTILINE):
        assert re.match(
            r'import \{ [\w, ]+ \} from "\.[./\w-]+\.js";$'
            r"|import \{$"  # one name a line, where the formatter breaks it
            r"|export (async function|function|const|class) ",
            line,
        ), line


def test_every_import_exists():
    for path, text in MODULES.items():
        names = re.findall(r'^import \{([^}]+)\} from "[^"]+";', text, re.MULTILINE)
        for listed, module in zip(names, module_imports(path, text), strict=True):
            assert set(re.findall(r"\w+", listed)) <= set(exported_names(MODULES[module])), path


def test_figures_of_the_page_have_the_constants_of_those_of_python():
    text = MODULES["lib/figure_svg.js"]
    constants = {
        "INK": drawing.INK,
        "QUIET": drawing.QUIET,
        "ACCENT": drawing.ACCENT,
        "SCALE": drawing.SCALE,
        "BELOW": drawing.NEGATIVE_SCALE,
        "TEXT": drawing.TEXT_SIZE,
        "SMALL": drawing.SMALL_SIZE,
        "MARGIN": drawing.MARGIN,
        "PITCH": lines.PITCH,
        "FONT": drawing.FONT,
    }
    for name, wanted in constants.items():
        value = re.search(rf"^const {name} = ([^;]*);", text, re.MULTILINE)[1]
        plain = ast.literal_eval(value)
        assert plain == (list(map(list, wanted)) if isinstance(plain, list) else wanted), name


def test_the_page_is_small_as_it_travels():
    assert sum(len(gzip.compress(text.encode())) for text in map(FILES.get, SENT)) < LARGEST_PAGE
