"""The staging that all Pods of a namespace share: whose a folder is, and which go."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.fleet.kubernetes import staging
from orchestrator.fleet.port import FleetOrder


def folder(place: Path, run: str, owner: str) -> Path:
    staging.claim(place / run, owner)
    staging.make_room(place / run / "slot-00.1")
    return place / run


def test_the_folder_of_a_run_that_is_gone_is_an_orphan(tmp_path: Path) -> None:
    """Also where another run has its name by now; other folders and namespaces are let alone."""
    folder(tmp_path, "alive", "ours/1")
    folder(tmp_path, "gone", "ours/2")
    folder(tmp_path, "again", "ours/3")
    folder(tmp_path, "elsewhere", "theirs/4")
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "somebodys").mkdir()
    found = staging.owners(tmp_path)
    assert staging.orphans(found, "ours", {"ours/1", "ours/33"}) == ["again", "gone"]


def test_a_runs_folder_goes_at_its_end_unless_something_is_left_in_it(tmp_path: Path) -> None:
    kept = folder(tmp_path, "kept", "ours/1")
    staging.release(kept)
    assert (kept / "slot-00.1").is_dir()
    (kept / "slot-00.1").rmdir()
    staging.release(kept)
    assert not kept.exists()
    staging.release(kept)  # there was none


def test_a_folder_that_another_run_has_taken_meanwhile_is_no_orphan_any_more(
    tmp_path: Path,
) -> None:
    again = folder(tmp_path, "again", "ours/3")
    staging.claim(again, "ours/4")
    staging.remove(again, "ours/3")
    assert again.exists()
    staging.remove(again, "ours/4")
    assert not again.exists()


class Committing(BaseHTTPRequestHandler):
    """A coordinator that takes every commit."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(self.path)
        answer = b'{"result": "committed"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def test_what_a_dead_worker_had_sealed_is_sent_over_loopback(tmp_path: Path) -> None:
    """A Pod that calls itself by its Service may be stopped by a network policy."""
    bundle = tmp_path / "slot-00.1" / "sealed-1" / "bundle"
    bundle.mkdir(parents=True)
    (bundle / "MANIFEST.json").write_text("{}")
    (bundle.parent / "token").write_text("a-lease")
    with HTTPServer(("127.0.0.1", 0), Committing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        order = FleetOrder(
            devices=1, coordinator=f"http://192.0.2.1:{server.server_port}", key=WorkerKey("a key"),
            work=tmp_path, starts=1, boot_s=1.0, linger_s=1.0,
        )  # fmt: skip
        staging.send_left(order, tmp_path / "slot-00.1", "slot-00.1")
        server.shutdown()
    assert Committing.asked == ["/v1/commit"]
    assert not (tmp_path / "slot-00.1").exists()
