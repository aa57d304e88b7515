"""Who was tested? What a run says of its agent, and of the model behind it.

The harness calls no model itself. What it cannot see of a program of somebody else's, a card says:

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

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, field_validator

from .. import __version__
from ..errors import UsageError
from .files import file_sha256
from .host import unknown, value_or_reason
from .strict_yaml import read_yaml, validation_message

Word = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\S")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Scalar = StrictBool | int | Number | Word
IN_PROCESS = "it is part of emufarm and runs inside the worker"
OUTSIDE = "it is called over HTTP and does not run on the device's host"
NO_MODEL = "no model is called: the agent is a part of emufarm"
UNSEEN = "not seen: a program's own calls are its own; --agent-card says what it uses"
UNSAID = "the agent card does not say"


class AgentCard(BaseModel):
    """As its author says; nobody checks it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Word
    version: Word
    model: Word | None = None
    provider: Word | None = None
    base_url: Word | None = None
    sampling: dict[Word, Scalar | list[Scalar]] = {}
    notes: Word | None = None

    @field_validator("base_url")
    @classmethod
    def keeps_no_secret(cls, url: str | None) -> str | None:
        """It is written into every copy of the run."""
        if url is not None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("it must be an http or https URL")
            if "@" in parts.netloc or parts.query:
                raise ValueError("leave out user, password and query: the card is published")
        return url


def load_card(path: Path) -> AgentCard:
    """UsageError, in one sentence, where there is none or it is wrong."""
    try:
        return AgentCard.model_validate(read_yaml(path))
    except ValidationError as error:
        raise UsageError(f"{path}: {validation_message(error, 'an agent card')}") from error


def agent_facts(
    spec: str,
    command: Sequence[str],
    card: AgentCard | None,
    outside: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """`command` is that of a program, `outside` says where one is that has no access to a device's
    host; without either the agent is ours."""
    theirs = bool(command) or outside is not None
    absent = unknown(IN_PROCESS if outside is None else OUTSIDE)
    own = {
        "name": Path(command[0]).name if command else spec,
        "version": unknown(UNSEEN) if theirs else __version__,
        "notes": unknown("no agent card was given"),
    }
    said = {"name": card.name, "version": card.version, "notes": _said(card.notes)} if card else {}
    return {
        "spec": spec,
        **own,
        **said,
        "command": list(command) or absent,
        "files_sha256": _files(command) or absent,
        "trusted_with_host": outside is None,
        **(outside or {}),
    }


def inference_facts(
    command: Sequence[str], card: AgentCard | None, outside: Mapping[str, str] | None = None
) -> dict[str, Any]:
    if card is None:
        return dict(unknown(NO_MODEL if not command and outside is None else UNSEEN))
    return {
        "model": _said(card.model),
        "provider": _said(card.provider),
        "base_url": _said(card.base_url),
        "sampling": card.sampling or unknown(UNSAID),
    }


def _said(word: str | None) -> Any:
    return word or unknown(UNSAID)


def _files(command: Sequence[str]) -> dict[str, Any]:
    """The program and every argument that is a file, such as an interpreter's script."""
    files = [word for word in command if Path(word).is_file()]
    return {word: value_or_reason(partial(file_sha256, Path(word))) for word in files}
