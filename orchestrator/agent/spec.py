"""Which agent does a word such as `reference`, `command:./agent.py` or `image:NAME` name?"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ..cases.render import CaseBroken, Rendered
from ..cases.script import parse_script
from ..errors import UsageError, did_you_mean
from .agent import Agent
from .command_agent import CommandAgent
from .http_agent import AgentHost, ContainerAgent, HttpAgent
from .http_post import parse_url
from .random_agent import RandomAgent
from .scripted_agent import ScriptedAgent

COMMAND, IMAGE = "command:", "image:"
URLS = ("http://", "https://")
# As an engine takes it: registry/path/name:tag@digest.
_IMAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}")
# Each control, and which of the case's scripts it plays.
SCRIPTS = {"reference": "solution", "near_miss": "near_miss", "gullible": "bait"}
KNOWN = (*SCRIPTS, "idle", "random", f"{COMMAND}PROGRAM", f"{URLS[0]}...", f"{IMAGE}NAME")


def check_spec(spec: str, folder: Path | None = None) -> None:
    """UsageError where there is no such agent; asked before anything is provisioned."""
    if spec.startswith(COMMAND):
        command_words(spec, folder or Path.cwd())
    elif spec.startswith(URLS):
        try:
            parse_url(spec)
        except ValueError as error:
            raise UsageError(f"{spec!r} is no agent's URL: {error}") from error
    elif spec.startswith(IMAGE):
        if not _IMAGE_NAME.fullmatch(image_of(spec)):
            raise UsageError(f"{spec!r} names no image; write for example {IMAGE}my-agent:1.4")
    elif spec not in KNOWN:
        kind = "".join(spec.partition(":")[:2])  # `commnd:` of `commnd:./agent.py`
        names = (*SCRIPTS, "idle", "random", COMMAND, *URLS, IMAGE)
        hint = did_you_mean(kind, names, f"choose one of {', '.join(KNOWN)}")
        raise UsageError(f"there is no agent {spec!r}; {hint}")


def check_backend(spec: str, backend: str) -> None:
    """UsageError where the agent cannot be had or reached there."""
    if image_of(spec) and backend != "docker":
        raise UsageError(
            f"{spec!r} runs in a container, and the {backend} backend has none: use BACKEND=docker"
        )
    if spec.startswith(COMMAND) and backend == "docker":
        raise UsageError(
            f"{spec!r} is a program of this machine, which no container has: use BACKEND=local, or "
            "put the agent into an image"
        )
    if spec.startswith(URLS) and backend == "docker" and _is_itself(parse_url(spec).host):
        raise UsageError(
            f"{spec!r} is inside the worker's own container: name an address of this machine that "
            "containers reach, and let the agent listen there"
        )


def _is_itself(host: str) -> bool:
    """Whether it means whoever calls it."""
    try:
        place = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return place.is_loopback or place.is_unspecified


def image_of(spec: str) -> str:
    """The image that an agent comes in; none for all others."""
    return spec.removeprefix(IMAGE) if spec.startswith(IMAGE) else ""


def remote_facts(spec: str) -> dict[str, str] | None:
    """Where an agent is that is not trusted with the device's host; None for one that is."""
    if spec.startswith(URLS):
        return {"url": spec}
    return {"image": image_of(spec)} if spec.startswith(IMAGE) else None


def command_of(spec: str) -> tuple[str, ...]:
    """The command of a program; none for an agent of our own."""
    return command_words(spec, Path.cwd()) if spec.startswith(COMMAND) else ()


def make_agent(spec: str, rendered: Rendered, seed: int, host: AgentHost | None = None) -> Agent:
    """The agent for one attempt at what was rendered. `seed` is the random one's only, `host` that
    of an image."""
    check_spec(spec)
    if spec.startswith(URLS):
        return HttpAgent(spec)
    if spec.startswith(IMAGE):
        if host is None:
            raise UsageError(f"nobody here runs {spec!r}")
        return ContainerAgent(image_of(spec), host)
    if spec.startswith(COMMAND):
        return CommandAgent(command_words(spec, Path.cwd()))
    if spec == "random":
        return RandomAgent(seed)
    if spec == "idle":
        return ScriptedAgent(spec, ())
    script: Sequence[Mapping[str, Any]] | None = getattr(rendered, SCRIPTS[spec])
    if script is None:
        raise CaseBroken(f"the case has no {SCRIPTS[spec]} for this profile")
    return ScriptedAgent(spec, parse_script(script))


def command_words(spec: str, folder: Path) -> tuple[str, ...]:
    """The command of a spec. It runs in another folder, so names of files here become absolute."""
    try:
        words = shlex.split(spec.removeprefix(COMMAND))
    except ValueError as error:
        raise UsageError(f"{spec!r} is no command line: {error}") from error
    if not words:
        raise UsageError(f"{spec!r} names no program; write for example {COMMAND}./agent.py")
    program = shutil.which(folder / words[0] if "/" in words[0] else words[0])
    if program is None:
        raise UsageError(f"{words[0]!r} is not there, or may not be executed")
    here = [str(folder / word) if (folder / word).is_file() else word for word in words[1:]]
    return (os.path.abspath(program), *here)
