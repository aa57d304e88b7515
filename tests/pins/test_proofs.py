"""Which cases are proven on which image; a case that was not checked is not called proven."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.files import write_json
from orchestrator.pins import proofs
from orchestrator.plan.plan import PlannedCase

CASES = [PlannedCase(name, name * 64, {}, {}) for name in "abc"]


def test_a_proof_is_of_one_case_on_one_image(tmp_path: Path) -> None:
    path = tmp_path / proofs.NAME
    assert proofs.proven(path, "image", CASES) == {}
    proofs.record(path, "image", {"a" * 64: True, "b" * 64: False})
    assert proofs.proven(path, "image", CASES) == {"a": True, "b": False}
    assert proofs.proven(path, "another image", CASES) == {}


def test_a_case_that_changed_is_not_proven_any_more(tmp_path: Path) -> None:
    path = tmp_path / proofs.NAME
    proofs.record(path, "image", {"a" * 64: True})
    changed = PlannedCase("a", "d" * 64, {}, {})
    assert proofs.proven(path, "image", [changed]) == {}


def test_what_was_known_stays_known(tmp_path: Path) -> None:
    path = tmp_path / proofs.NAME
    proofs.record(path, "image", {"a" * 64: False})
    proofs.record(path, "other", {"b" * 64: True})
    proofs.record(path, "image", {"a" * 64: True})
    assert proofs.proven(path, "image", CASES)["a"] is True
    assert proofs.proven(path, "other", CASES)["b"] is True


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"image": 1}'])
def test_a_broken_list_of_proofs_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / proofs.NAME
    path.write_text(text)
    with pytest.raises(UsageError, match=r"proofs\.json is not a file of proofs"):
        proofs.proven(path, "image", CASES)


def test_a_run_remembers_the_proofs_it_began_with(tmp_path: Path) -> None:
    assert proofs.recorded(tmp_path) == {}
    write_json(tmp_path / "run_manifest.json", {"reproducibility": {"proven": {"a": True}}})
    assert proofs.recorded(tmp_path) == {"a": True}
    (tmp_path / "run_manifest.json").write_text("[]")
    with pytest.raises(UsageError, match="is not a run's manifest"):
        proofs.recorded(tmp_path)
