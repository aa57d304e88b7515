"""Facts about host, code and files are true, and a missing fact has a reason."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator import __version__
from orchestrator.files import read_json, source_sha256, tree, tree_sha256, write_json
from orchestrator.pins.code_version import git_facts, repo_facts
from orchestrator.pins.host import host_facts, kvm


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "--message", "one")
    return tmp_path


def test_the_host_is_told() -> None:
    facts = host_facts()
    assert facts["kernel"].startswith("Linux ")
    assert facts["python"].count(".") >= 2
    assert set(facts) >= {"os", "cpu", "kvm", "pip", "machine", "memory_kb"}


def test_kvm_is_told_with_its_reason(tmp_path: Path) -> None:
    assert kvm(tmp_path / "kvm") == {
        "present": False, "usable": False, "why": f"{tmp_path}/kvm does not exist",
    }  # fmt: skip
    (tmp_path / "kvm").touch()
    assert kvm(tmp_path / "kvm") == {"present": True, "usable": True}


def test_a_checkout_is_told_by_its_commit(checkout: Path) -> None:
    assert git_facts(checkout) == {"commit": git(checkout, "rev-parse", "HEAD"), "dirty": False}
    (checkout / "file").write_text("two")
    assert git_facts(checkout)["dirty"] is True


def test_a_hook_does_not_mislead(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a git hook GIT_DIR names another repository."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert git_facts(checkout)["dirty"] is False


def test_an_enclosing_repository_is_not_ours(checkout: Path) -> None:
    (checkout / "venv").mkdir()
    facts = git_facts(checkout / "venv")
    assert facts["commit"]["value"] is None
    assert "not the root of a git checkout" in facts["commit"]["why"]


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = repo_facts(tmp_path)
    assert facts["version"] == __version__
    assert facts["commit"]["value"] is None
    assert "No such file" in facts["lock_sha256"]["requirements.txt"]["why"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git" in git_facts(tmp_path)["commit"]["why"]


def test_a_tree_has_one_digest(tmp_path: Path) -> None:
    """Every name and byte counts; a link counts as its target's name."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("x")
    (tmp_path / "a" / "link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "a" / "pipe")
    assert list(tree(tmp_path)) == ["a/b/file", "a/link", "a/pipe"]
    before = tree_sha256(tmp_path)
    (tmp_path / "a" / "b" / "file").write_text("y")
    assert tree_sha256(tmp_path) != before


def test_what_python_caches_is_not_source(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("x = 1")
    before = source_sha256(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "module.pyc").write_bytes(b"\0")
    assert source_sha256(tmp_path) == before
    (tmp_path / "other.py").touch()
    assert source_sha256(tmp_path) != before


def test_json_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"name": "Zoë", "n": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"n": float("nan")})
    assert read_json(path) == {"name": "Zoë", "n": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["file.json"]
