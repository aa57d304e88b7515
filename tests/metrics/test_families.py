"""The table of families keeps to Prometheus's rules and to our own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.metrics.families import FAMILIES, IDENTITY, Family

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_named_by_the_rules_and_says_what_it_is(family: Family) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", family.name)
    assert family.name.endswith("_total") == (family.kind == "counter")
    assert family.name.endswith("_info") == (family.kind == "info")
    assert family.help[0].isalnum()
    assert family.help.endswith(".")
    assert list(family.bounds) == sorted(set(family.bounds))
    assert bool(family.bounds) == (family.kind == "histogram")
    if family.kind == "histogram":
        assert family.name.endswith("_seconds")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_has_every_combination_of_its_labels_once(family: Family) -> None:
    assert len(set(family.series)) == len(family.series)
    if family.kind != "info":
        assert {len(values) for values in family.series} == {len(family.labels)}
        assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", text) for s in family.series for text in s)


def test_only_the_identity_says_which_run_it_is() -> None:
    """A coordinator is one run of one image: no other family repeats them."""
    others = {label for family in FAMILIES for label in family.labels if family.kind != "info"}
    assert others & set(IDENTITY) == set()
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_the_table_in_the_document_is_fresh() -> None:
    """`make families` writes it again."""
    program = [sys.executable, str(ROOT / "docs" / "families.py")]
    done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=60)
    document = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert f"-->\n{done.stdout}<!-- families: end" in document
    assert all(f"| `{family.full_name}` |" in document for family in FAMILIES)
