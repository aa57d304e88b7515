"""Puts the files that orchestrator/folders.py finds into the wheel; the rest is in pyproject.toml.

An editable install needs no copy: it finds them in the checkout.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DATA = "orchestrator/data"
# Cases and profiles, and what container images are built from. The worker image is built from a
# tree without cases: what is not there is not copied.
SHIPPED = (
    "cases/**/*",
    "images/**/*",
    "Dockerfile.emulator",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "requirements.in",
    "requirements.txt",
    "requirements-build.txt",
    "requirements-simphone.in",
    "setup.py",
)
# What a checkout's use leaves in these folders (.gitignore).
LEFT = ("__pycache__", "sdk", "image.lock.json")


def shipped() -> list[str]:
    found = [path for pattern in SHIPPED for path in Path().glob(pattern)]
    return sorted(str(path) for path in found if path.is_file() and not {*path.parts} & {*LEFT})


class BuildWithData(build_py):
    """Builds the package with its data folder."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for name in shipped():
                target = Path(self.build_lib, DATA, name)
                self.mkpath(str(target.parent))
                self.copy_file(name, str(target))

    def get_source_files(self) -> list[str]:
        """Files that a source archive needs for the same wheel."""
        return [*super().get_source_files(), *shipped()]


setup(cmdclass={"build_py": BuildWithData})
