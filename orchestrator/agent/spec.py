"""Checks agent specs (`reference`, `command:./agent.py`, `image:NAME`) and makes the agents."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ..cases.render import CaseBroken, Rendered
from ..cases.script import parse_script
from ..errors import UsageError, did_you_mean
from .agent import Agent
from .command_agent import CommandAgent
from .confinement import Confinement
from .http_agent import AgentHost, ContainerAgent, HttpAgent
from .http_post import parse_url
from .masking import COMMAND, masked
from .random_agent import RandomAgent
from .scripted_agent import ScriptedAgent

IMAGE = "image:"
URLS = ("http://", "https://")
# As a container engine accepts it: registry/path/name:tag@digest.
_IMAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}")
_HAS_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}\Z")
_BY_DIGEST = f"{IMAGE}NAME@sha256:..."
# Each control agent, and the script of the case that it plays.
SCRIPTS = {"reference": "solution", "near_miss": "near_miss", "gullible": "bait"}
KNOWN = (*SCRIPTS, "idle", "random", f"{COMMAND}PROGRAM", f"{URLS[0]}...", f"{IMAGE}NAME")


Confine = Callable[[tuple[str, ...]], Confinement | None]


def unconfined(command: tuple[str, ...]) -> None:
    """Confines nothing."""


def check_spec(spec: str, folder: Path | None = None) -> None:
    """Raises UsageError where there is no such agent. Called before anything is provisioned."""
    if spec.startswith(COMMAND):
        command_words(spec, folder or Path.cwd())
    elif spec.startswith(URLS):
        try:
            parse_url(spec)
        except ValueError as error:
            raise UsageError(f"{masked(spec)!r} is not an agent's URL: {error}") from error
    elif spec.startswith(IMAGE):
        if not _IMAGE_NAME.fullmatch(image_of(spec)):
            raise UsageError(
                f"{masked(spec)!r} names no image; write for example {IMAGE}my-agent:1.4"
            )
    elif spec not in KNOWN:
        kind = "".join(spec.partition(":")[:2])  # `commnd:` of `commnd:./agent.py`
        names = (*SCRIPTS, "idle", "random", COMMAND, *URLS, IMAGE)
        hint = did_you_mean(kind, names, f"choose one of {', '.join(KNOWN)}")
        raise UsageError(f"there is no agent {masked(spec)!r}; {hint}")


def check_backend(spec: str, backend: str) -> None:
    """Raises UsageError where this backend cannot run or reach the agent."""
    if backend == "kubernetes":
        _check_cluster(spec)
        return
    if image_of(spec) and backend != "docker":
        why = f"needs a container, and the {backend} backend runs none: use BACKEND=docker"
        raise UsageError(f"{masked(spec)!r} {why}")
    if spec.startswith(COMMAND) and backend == "docker":
        raise UsageError(
            f"{masked(spec)!r} is a program on this machine, which a container cannot run: "
            "use BACKEND=local, or put the agent into an image"
        )
    if spec.startswith(URLS) and backend == "docker" and _is_own_host(parse_url(spec).host):
        raise UsageError(
            f"{masked(spec)!r} is the worker's own container: use an address of this machine "
            "that containers can reach, and let the agent listen there"
        )


def _check_cluster(spec: str) -> None:
    """Raises UsageError where Pods cannot run or reach the agent."""
    if spec.startswith(COMMAND):
        raise UsageError(
            f"{masked(spec)!r} is a program on this machine, which a Pod cannot run: put the agent "
            f"into an image ({_BY_DIGEST}) or let it listen at a URL ({URLS[0]}..., {URLS[1]}...)"
        )
    if image_of(spec) and not _HAS_DIGEST.search(spec):
        raise UsageError(
            f"{masked(spec)!r} has no digest, and a cluster runs images by digest: {_BY_DIGEST}"
        )
    if spec.startswith(URLS) and _is_own_host(parse_url(spec).host):
        raise UsageError(
            f"{masked(spec)!r} is the worker's own Pod: use an address that Pods can reach, and "
            "let the agent listen there"
        )


def _is_own_host(host: str) -> bool:
    """Whether this host is the caller's own machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def image_of(spec: str) -> str:
    """The image of an `image:` agent; empty for others."""
    return spec.removeprefix(IMAGE) if spec.startswith(IMAGE) else ""


def remote_facts(spec: str) -> dict[str, str] | None:
    """The URL or image of an untrusted agent, for the manifest; None for a trusted one."""
    if spec.startswith(URLS):
        return {"url": spec}
    return {"image": image_of(spec)} if spec.startswith(IMAGE) else None


def command_of(spec: str) -> tuple[str, ...]:
    """The command line of a `command:` agent; empty for others."""
    return command_words(spec, Path.cwd()) if spec.startswith(COMMAND) else ()


def make_agent(
    spec: str, rendered: Rendered, seed: int, host: AgentHost | None = None,
    confine: Confine = unconfined,
) -> Agent:  # fmt: skip
    """The agent for one attempt. Only `random` uses the seed, only an `image:` agent the host, only
    a `command:` agent what confines it.
    Raises CaseBroken where the case has no script for this control agent and profile."""
    check_spec(spec)
    if spec.startswith(URLS):
        return HttpAgent(spec)
    if spec.startswith(IMAGE):
        if host is None:
            why = "it has no fleet that makes containers"
            raise UsageError(f"this worker cannot run {masked(spec)!r}: {why}")
        return ContainerAgent(image_of(spec), host)
    if spec.startswith(COMMAND):
        words = command_words(spec, Path.cwd())
        return CommandAgent(words, confine(words))
    if spec == "random":
        return RandomAgent(seed)
    if spec == "idle":
        return ScriptedAgent(spec, ())
    script: Sequence[Mapping[str, Any]] | None = getattr(rendered, SCRIPTS[spec])
    if script is None:
        raise CaseBroken(f"the case has no {SCRIPTS[spec]} for this profile")
    return ScriptedAgent(spec, parse_script(script))


def command_words(spec: str, folder: Path) -> tuple[str, ...]:
    """The command line of a spec. It runs in another folder, so file names become absolute."""
    try:
        words = shlex.split(spec.removeprefix(COMMAND))
    except ValueError as error:
        raise UsageError(f"{masked(spec)!r} is not a command line: {error}") from error
    if not words:
        raise UsageError(
            f"{masked(spec)!r} names no program; write for example {COMMAND}./agent.py"
        )
    program = shutil.which(folder / words[0] if "/" in words[0] else words[0])
    if program is None:
        raise UsageError(f"{words[0]!r} does not exist or is not executable; name a program")
    here = [str(folder / word) if (folder / word).is_file() else word for word in words[1:]]
    return (os.path.abspath(program), *here)
