"""Workflows of CI: they parse, actions have a version, and what they run is there."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_in_order(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    assert jobs
    for job in jobs.values():
        assert job["timeout-minutes"] > 0
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@(v\d[\d.]*|[0-9a-f]{40})", step["uses"])
            else:
                targets = re.findall(r"^\s*make ([a-z-]+)", step["run"], re.MULTILINE)
                assert set(targets) <= set(TARGETS)


def test_wheels_are_built_for_every_platform():
    jobs = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text("utf-8"))["jobs"]
    systems = jobs["wheels"]["strategy"]["matrix"]["system"]
    assert {"ubuntu-latest", "ubuntu-24.04-arm", "macos-15", "windows-latest"} <= set(systems)
    assert {"source", "browser"} <= jobs.keys()


def test_a_tag_publishes_explorer_and_documentation():
    jobs = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text("utf-8"))["jobs"]
    assert jobs["publish"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert jobs["publish"]["needs"] == "site"
    assert [step["run"] for step in jobs["site"]["steps"] if "run" in step][-1] == "make site"
