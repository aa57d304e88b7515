"""The agent card, and what a run's manifest records about its agent and the model behind it.

The farm itself calls no model. What it cannot see of an external agent, its author says in a card:

    name: my-agent
    version: 1.4.0
    model: some-model-2031-05
    provider: example.org
    base_url: https://api.example.org/v1
    sampling: {temperature: 0.2, top_p: 0.9, seed: 7}
    notes: Prompt 12, with memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator

from .. import __version__
from ..files import file_sha256
from .host import unknown, value_or_reason
from .strict_yaml import read_model

Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\S")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Scalar = StrictBool | int | Number | Text
IN_PROCESS = "the agent is part of emufarm and runs inside the worker"
REMOTE = "the agent is called over HTTP and does not run on the device's host"
NO_MODEL = "no model is called: the agent is part of emufarm"
UNSEEN = "emufarm cannot see what the agent uses; write it in an --agent-card"
UNSAID = "the agent card does not say"


class AgentCard(BaseModel):
    """What the author says about an agent; nothing checks it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Text
    version: Text
    model: Text | None = None
    provider: Text | None = None
    base_url: Text | None = None
    sampling: dict[Text, Scalar | list[Scalar]] = {}
    notes: Text | None = None

    @field_validator("base_url")
    @classmethod
    def keeps_no_secret(cls, url: str | None) -> str | None:
        """The URL is written into every copy of the run."""
        if url is not None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("write an http or https URL")
            if "@" in parts.netloc or parts.query:
                raise ValueError("leave out user, password and query: the card is published")
        return url


def load_card(path: Path) -> AgentCard:
    """Raises UsageError where the file is missing or wrong."""
    return read_model(path, AgentCard, "an agent card")


def agent_facts(
    spec: str,
    command: Sequence[str],
    card: AgentCard | None,
    remote: Mapping[str, str] | None = None,
    published: Sequence[str] | None = None,
    confinement: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest's `agent`. `command` is the command line of a `command:` agent, of which
    `published` is what every copy of the run may show; `remote` is the URL or image of an untrusted
    one; an agent with neither is part of emufarm. `confinement`: of a command, on the host where
    the run began."""
    shown = command if published is None else published
    external = bool(command) or remote is not None
    absent = unknown(IN_PROCESS if remote is None else REMOTE)
    own = {
        "name": Path(command[0]).name if command else spec,
        "version": unknown(UNSEEN) if external else __version__,
        "notes": unknown("no agent card was given"),
    }
    if card:
        own = {"name": card.name, "version": card.version, "notes": _stated(card.notes)}
    return {
        "spec": spec,
        **own,
        "command": list(shown) or absent,
        "files_sha256": _files(shown) or absent,
        "trusted_with_host": remote is None and not (confinement or {}).get("confined"),
        "confinement": dict(confinement or absent),
        **(remote or {}),
    }


def inference_facts(
    command: Sequence[str], card: AgentCard | None, remote: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The manifest's `inference`: the model behind the agent."""
    if card is None:
        return dict(unknown(NO_MODEL if not command and remote is None else UNSEEN))
    return {
        "model": _stated(card.model),
        "provider": _stated(card.provider),
        "base_url": _stated(card.base_url),
        "sampling": card.sampling or unknown(UNSAID),
    }


def _stated(value: str | None) -> Any:
    return value or unknown(UNSAID)


def _files(command: Sequence[str]) -> dict[str, Any]:
    """Digests of the program and of every argument that is a file, such as a script."""
    files = [word for word in command if Path(word).is_file()]
    return {word: value_or_reason(partial(file_sha256, Path(word))) for word in files}
