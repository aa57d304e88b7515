"""The stand-in SDK and both images, built once for all tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator import __version__
from orchestrator.folders import cache_folder
from orchestrator.image import build_context
from orchestrator.image.simphone import StandInSdk, simphone
from orchestrator.image.wheelhouse import wheelhouse
from orchestrator.pins.profile import load_profile
from tests.images import engine

PROFILE = load_profile("sim-api34")


@dataclass(frozen=True)
class DeviceBuild:
    """What device images are built from here."""

    standin: StandInSdk

    @property
    def arguments(self) -> dict[str, str]:
        parts = build_context.parts(PROFILE, self.standin)
        base, version = engine.BASE_IMAGE, __version__
        return build_context.build_args(
            PROFILE, parts, base_image=base, revision="test", version=version
        )

    def build(self, tag: str, *options: str, **changed: str) -> tuple[int, str]:
        """The exit code, and what was said last."""
        done = engine.build(
            build_context.context(self.standin),
            {**self.arguments, **changed},
            tag,
            build_context.DOCKERFILE,
            *options,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="session")
def wheels() -> Path:
    return wheelhouse(cache_folder(), print)


@pytest.fixture(scope="session")
def device_build(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Iterator[DeviceBuild]:
    yield DeviceBuild(simphone().pack_sdk(tmp_path_factory.mktemp("sdk"), wheels))
    engine.sweep()


@pytest.fixture(scope="session")
def device_image(device_build: DeviceBuild) -> str:
    code, said = device_build.build("emufarm-test-device:built")
    assert code == 0, said
    return "emufarm-test-device:built"


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """Readable by the image's user, in a folder of its own."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "control.token").write_text("0123456789abcdef-token")
    for path in (tmp_path, folder):
        path.chmod(0o755)
    return folder / "control.token"
