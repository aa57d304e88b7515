"""The image of images/worker/Dockerfile is small, locked and runs on a read-only root."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator import __version__
from orchestrator.image import build_context
from tests.images import engine
from tests.images.conftest import PROFILE, DeviceBuild

pytestmark = pytest.mark.docker

MOST_BYTES = 250_000_000  # above its base
TAG = "emufarm-test-worker:built"


@pytest.fixture(scope="module")
def image(device_build: DeviceBuild, wheels: Path) -> str:
    """The device_build sweeps it away."""
    files = build_context.worker_context(wheels)
    arguments = build_context.worker_build_args(
        files, base_image=engine.BASE_IMAGE, revision="test", version=__version__
    )
    done = engine.build(files, arguments, TAG, build_context.WORKER_DOCKERFILE)
    assert done.returncode == 0, done.stdout + done.stderr
    return TAG


def run(image: str, *words: str, entry: tuple[str, ...] = ()) -> str:
    options = (
        "--rm",
        "--label",
        engine.LABEL,
        "--read-only",
        "--tmpfs",
        "/tmp",
        "--cap-drop",
        "ALL",
    )
    done = engine.docker("run", *options, "--network", "none", *entry, image, *words)
    return done.stdout


def test_it_is_built_without_a_network_and_is_small(image: str) -> None:
    assert engine.layers_bytes(image) - engine.layers_bytes(engine.BASE_IMAGE) < MOST_BYTES


def test_every_command_is_there_on_a_read_only_root(image: str) -> None:
    assert "emufarm worker" in run(image, "worker", "--help")
    assert run(image, "-u", entry=("--entrypoint", "id")) == "10001\n"


def test_it_has_the_profiles_and_neither_installer_nor_build_backend(image: str) -> None:
    code = (
        "from importlib.util import find_spec; from orchestrator.pins.profile import load_profile;"
        "print(load_profile('sim-api34').digest, find_spec('pip'), find_spec('setuptools'))"
    )
    told = run(image, "-c", code, entry=("--entrypoint", "/opt/emufarm/bin/python"))
    assert told == f"{PROFILE.digest} None None\n"


def test_its_adb_runs(image: str) -> None:
    code = "from orchestrator.device.adb import adb_version; print(adb_version())"
    told = run(image, "-c", code, entry=("--entrypoint", "/opt/emufarm/bin/python"))
    assert told.startswith("Android Debug Bridge")
