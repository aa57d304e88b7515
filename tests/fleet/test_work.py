"""Work folders: one for each run, removed with it; those of dead runs are swept, others never."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.fleet.local.work_folder import work_folder


def test_a_folder_is_gone_after_its_run(tmp_path: Path) -> None:
    with work_folder(tmp_path) as folder:
        (folder / "copy").mkdir()
    assert not folder.exists()


def test_two_living_runs_leave_each_other_alone(tmp_path: Path) -> None:
    with work_folder(tmp_path) as one, work_folder(tmp_path) as other:
        assert one != other
        assert one.exists()
        assert other.exists()


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from orchestrator.fleet.local.work_folder import work_folder\n"
        "with work_folder(Path(sys.argv[1])) as folder: print(folder, flush=True); input()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with run:
        assert run.stdout is not None
        left = Path(run.stdout.readline().decode().strip())
        with work_folder(tmp_path):
            assert left.exists()
        run.kill()
    assert left.exists()
    with work_folder(tmp_path):
        assert not left.exists()


def test_an_unusable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="set TMPDIR"), work_folder(tmp_path / "file"):
        pass
