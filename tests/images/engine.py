"""Builds images and runs containers on a real engine; each is removed with its test."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.image import build_context

BASE_IMAGE = os.environ.get("EMUFARM_BASE_IMAGE", "emufarm-base:bookworm")
LABEL = "emufarm.test=images"
BUILD_S = 600.0
# An image that a step made: not the one a stage is FROM, nor one of the cache, which may be
# somebody else's.
_STEP = re.compile(
    r"^(?:Removing intermediate container .*|Step \d+/\d+ : COPY .*)\n ---> ([0-9a-f]{12})$",
    re.MULTILINE,
)
_made: dict[str, None] = {}
# As a fleet runs a device: nothing can be written but what is named.
DEVICE = (
    "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none",
    "--tmpfs", "/tmp", "--tmpfs", "/var/emu:uid=10001,gid=10001,mode=0700,exec",
)  # fmt: skip


def docker(
    *words: str, check: bool = True, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *words], env={**os.environ, "DOCKER_BUILDKIT": "0"}, capture_output=True,
        text=True, timeout=seconds, check=check,
    )  # fmt: skip


def build(
    files: build_context.ContextFiles,
    arguments: Mapping[str, str],
    tag: str,
    dockerfile: str,
    *options: str,
) -> subprocess.CompletedProcess[str]:
    """With no network: the base has what is needed, and the rest is in the context."""
    words = [word for item in arguments.items() for word in ("--build-arg", "=".join(item))]
    ours = ("--force-rm", "--network", "none", "--label", LABEL, "-t", tag, "-f", dockerfile)
    with tempfile.TemporaryFile() as context:
        build_context.pack(files, context)
        context.seek(0)
        done = subprocess.run(
            ["docker", "build", *ours, *options, *words, "-"],
            stdin=context, env={**os.environ, "DOCKER_BUILDKIT": "0"}, capture_output=True,
            text=True, timeout=BUILD_S, check=False,
        )  # fmt: skip
    _made.update(dict.fromkeys(_STEP.findall(done.stdout)))
    return done


def inspect(name: str) -> Any:
    return json.loads(docker("inspect", name).stdout)[0]


def layers_bytes(image: str) -> int:
    return int(inspect(image)["Size"])


def shared(token: Path) -> tuple[str, ...]:
    """The folder with the control token, as a fleet gives it."""
    return ("-v", f"{token.parent}:/run/emufarm:ro")


def sweep() -> None:
    """Everything of these tests, what failed builds left included; nobody else's."""
    if containers := docker("ps", "-aq", "--filter", f"label={LABEL}").stdout.split():
        docker("rm", "-f", *containers)
    # A committed image stands on a built one, and a stage's last step on those before it.
    for image in docker("images", "-q", "--filter", f"label={LABEL}").stdout.split():
        docker("rmi", "-f", image, check=False)
    for image in reversed(_made):
        tags = docker("image", "inspect", "--format", "{{len .RepoTags}}", image, check=False)
        if tags.stdout.strip() == "0":
            docker("rmi", image, check=False)  # refused where somebody else's build stands on it
    _made.clear()
