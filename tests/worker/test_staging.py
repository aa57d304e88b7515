"""A bundle in staging is complete, or it is not sent, wherever its worker was killed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from orchestrator.coordinator.client import CoordinatorRefused, LeaseLost
from orchestrator.worker import staging as module
from orchestrator.worker.staging import begin_attempt, seal_attempt, send_attempt, send_sealed


class Coordinator:
    """Takes every bundle, or answers with an error."""

    def __init__(self, answer: Exception | None = None) -> None:
        self.answer = answer
        self.heard: list[str] = []

    def commit(self, token: str, bundle: Path) -> str:
        if self.answer is not None:
            raise self.answer
        assert (bundle / "MANIFEST.json").is_file()
        self.heard.append(token)
        return "committed"


def an_attempt(staging: Path, token: str = "t") -> None:
    folder = begin_attempt(staging, token)
    folder.mkdir()
    (folder / "attempt.json").write_text("{}")


def test_killed_while_it_removed_what_was_sent_nothing_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_attempt(tmp_path)
    remove = shutil.rmtree

    def killed(path: Path, **more: Any) -> None:
        (path / "bundle" / "MANIFEST.json").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(module.shutil, "rmtree", killed)  # type: ignore[attr-defined]
    client: Any = Coordinator()
    with pytest.raises(KeyboardInterrupt):
        send_attempt(client, seal_attempt(tmp_path))
    monkeypatch.setattr(module.shutil, "rmtree", remove)  # type: ignore[attr-defined]
    send_sealed(client, tmp_path)
    assert client.heard == ["t"]
    assert list(tmp_path.iterdir()) == []


def test_an_attempt_that_was_not_sealed_is_not_sent(tmp_path: Path) -> None:
    an_attempt(tmp_path, "old")
    client: Any = Coordinator()
    send_sealed(client, tmp_path)
    assert client.heard == []
    an_attempt(tmp_path, "new")
    send_attempt(client, seal_attempt(tmp_path))
    assert client.heard == ["new"]


def test_what_the_run_cannot_keep_goes_and_what_it_refuses_stays_for_a_person(
    tmp_path: Path,
) -> None:
    late: Any = Coordinator(LeaseLost("too late"))
    an_attempt(tmp_path)
    send_attempt(late, seal_attempt(tmp_path))
    assert list(tmp_path.iterdir()) == []
    refusing: Any = Coordinator(CoordinatorRefused("not whole"))
    an_attempt(tmp_path)
    send_attempt(refusing, seal_attempt(tmp_path))
    (refused,) = tmp_path.glob("refused-*")
    assert (refused / "why").read_text() == "not whole\n"
    send_sealed(refusing, tmp_path)


def test_a_full_disk_while_sending_leaves_the_bundle_for_the_next(tmp_path: Path) -> None:
    full: Any = Coordinator(OSError("No space left on device"))
    an_attempt(tmp_path)
    with pytest.raises(OSError, match="No space"):
        send_attempt(full, seal_attempt(tmp_path))
    client: Any = Coordinator()
    send_sealed(client, tmp_path)
    assert client.heard == ["t"]
