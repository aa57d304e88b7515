"""What a confined agent is shown, and where none can be confined; tests/e2e confines some."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.agent.confinement import Unconfined, confinement, resolv_conf, shown, view_options
from orchestrator.errors import UsageError
from orchestrator.farm.runner import require_ports


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's, on a machine whose temporary files are elsewhere."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return folder


def a_file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_of_the_system_needs_nothing_else() -> None:
    assert shown(("/usr/bin/env", "x")) == []
    assert shown(("/bin/sh",)) == []


def test_of_a_script_its_folder_is_shown_and_of_one_in_the_home_only_itself(home: Path) -> None:
    in_folder = a_file(home / "project" / "agent.py")
    alone = a_file(home / "agent.py")
    assert shown(("/bin/sh", str(in_folder))) == [home / "project"]
    assert shown(("/bin/sh", str(alone))) == [alone]


def test_of_a_linked_script_both_folders_are_shown(home: Path) -> None:
    script = a_file(home / "other" / "agent.py")
    link = home / "project" / "agent.py"
    link.parent.mkdir()
    link.symlink_to("../other/agent.py")
    assert shown(("/bin/sh", str(link))) == [script.parent, link.parent]


def test_a_virtual_environment_is_shown_with_the_python_that_it_was_made_with(home: Path) -> None:
    base = a_file(home / "versions" / "3.12" / "bin" / "python3")
    (base.parents[1] / "lib").mkdir()
    environment = home / "project" / ".venv"
    (environment / "lib").mkdir(parents=True)
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(base)
    copied = a_file(home / "copied" / "bin" / "python")
    (copied.parents[1] / "lib").mkdir()
    a_file(copied.parents[1] / "pyvenv.cfg", f"home = {base.parent}\n")
    assert shown((str(environment / "bin" / "python"),)) == [environment, base.parents[1]]
    assert shown((str(copied),)) == [copied.parents[1], base.parents[1]]


def test_the_interpreter_of_a_first_line_is_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = a_file(home / "versions" / "3.12" / "bin" / "mine")
    (python.parents[1] / "lib").mkdir()
    named = a_file(home / "a" / "agent", f"#!{python} -u\n")
    monkeypatch.setenv("PATH", f"{python.parent}:{os.environ['PATH']}")
    found = a_file(home / "b" / "agent", "#!/usr/bin/env mine\n")
    assert shown((str(named),)) == [named.parent, python.parents[1]]
    assert shown((str(found),)) == [found.parent, python.parents[1]]


def test_a_home_is_never_shown_as_the_installation_of_a_program_in_its_bin(home: Path) -> None:
    (home / "lib").mkdir()
    (home / ".local" / "lib").mkdir(parents=True)
    for place in (home, home / ".local"):
        program = a_file(place / "bin" / "agent")
        assert shown((str(program),)) == [program.parent]


def test_the_shims_of_a_version_manager_are_shown_with_its_versions(home: Path) -> None:
    shim = a_file(home / ".pyenv" / "shims" / "python3")
    assert shown((str(shim),)) == [home / ".pyenv"]


def test_runs_below_what_is_shown_are_hidden(home: Path) -> None:
    script, runs = a_file(home / "project" / "agent.py"), home / "project" / "runs"
    runs.mkdir()
    words = list(view_options([script.parent], [runs, home, home / "none"]))
    masked = [words[i + 1] for i, word in enumerate(words) if word == "--tmpfs"]
    assert str(runs) in masked
    assert str(home) not in masked


def test_a_host_without_the_tools_is_said_to_confine_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = confinement(("/bin/sh", "no tools"))
    assert isinstance(found, Unconfined)
    assert found.why == "there is no bwrap and no slirp4netns"
    assert "apt-get install bubblewrap slirp4netns" in found.sentence
    assert found.as_json()["confined"] is False


def test_a_host_that_forbids_namespaces_is_found_by_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bwrap", "slirp4netns"):
        a_file(
            tmp_path / name, "#!/bin/sh\necho No permissions to create a namespace >&2; exit 1\n"
        )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = confinement(("/bin/sh", "forbidden"))
    assert isinstance(found, Unconfined)
    assert found.why.startswith("No permissions to create a namespace")


def test_name_servers_on_the_hosts_own_loopback_are_left_out(tmp_path: Path) -> None:
    stub, real = tmp_path / "stub", tmp_path / "real"
    stub.write_text("search home\nnameserver 127.0.0.53\nnameserver ::1\n")
    real.write_text("nameserver 192.0.2.1\nnameserver 2001:db8::1\n")
    assert resolv_conf([tmp_path / "none", stub, real]) == "nameserver 192.0.2.1\n"
    assert resolv_conf([stub]) == ""


@pytest.mark.parametrize(
    ("ports", "agent", "why"),
    [((8000,), "reference", "is for command: agents"), ((0,), "command:x", "from 1 to 65535")],
)
def test_a_port_that_no_agent_could_use_is_refused(
    ports: tuple[int, ...], agent: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        require_ports(ports, agent)
