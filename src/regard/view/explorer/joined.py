"""The page's own modules joined into one script, so that a single file can hold the page.

The modules keep to a discipline that makes this a matter of lines: an import is one line of names
from a file beside it, exports stand before declarations, and no two modules use the same top-level
name. So joining is leaving out the import lines and the word export, in the order of dependence,
inside one function. No text in backquotes runs over several lines, so indents can be left out too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.-]+)";[ \t]*\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=async function|function|const|class|let)", re.MULTILINE)
ASIDE = re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE)  # comments and indents stay behind
NAME = re.compile(
    r"^(?:export )?(?:async function\*?|function\*?|const|let|class) "
    r"(?:(\w+)|\{([^}]*)\}|\[([^\]]*)\])",
    re.MULTILINE,
)


def joined(modules: Mapping[str, str], first: str) -> str:
    """One script of the module ``first`` and all that it needs."""
    parts = [_plain(modules[name]) for name in in_order(modules, first)]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def in_order(modules: Mapping[str, str], first: str) -> list[str]:
    """The names of the modules needed, each after those that it needs itself.

    >>> in_order({"a.js": 'import { b } from "./b.js";\\n', "b.js": "", "c.js": ""}, "a.js")
    ['b.js', 'a.js']
    """
    done: list[str] = []
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name in begun:
            return
        begun.add(name)
        for needed in IMPORT.findall(modules[name]):
            visit(needed)
        done.append(name)

    visit(first)
    return done


def names_of(module: str) -> list[str]:
    """The top-level names of a module.

    >>> names_of("export const A = 1;\\nfunction b() {\\n  const c = 2;\\n}\\nconst [d, e] = f;\\n")
    ['A', 'b', 'd', 'e']
    """
    found = []
    for single, braces, brackets in NAME.findall(module):
        listed = [single] if single else re.findall(r"\w+", braces or brackets)
        found += listed
    return found


def _plain(module: str) -> str:
    return ASIDE.sub("", EXPORT.sub("", IMPORT.sub("", module)))
