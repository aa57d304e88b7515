"""Images on the Docker engine: found, built, committed, tagged, pushed and removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from ...errors import EmufarmError
from .engine import Engine, EngineRefused, NotThere

SILENT_S = 3600  # how long one step of a build may be silent
COMMIT_S = 900  # a snapshot's gigabytes are written once more


class ImageFailed(EmufarmError):
    """An image could not be made, is not what it says it is, or does not work."""


@dataclass(frozen=True)
class Image:
    id: str
    tags: tuple[str, ...]
    labels: Mapping[str, str]
    size: int
    volumes: tuple[str, ...]  # the folders that it declares as volumes


def image(engine: Engine, name: str) -> Image | None:
    """By its tag or id; None where the engine has none."""
    try:
        found = engine.ask(f"look at the image {name}", partial(_inspect, name=name))
    except NotThere:
        return None
    return Image(
        id=found["Id"],
        tags=tuple(found["RepoTags"] or ()),
        labels=found["Config"].get("Labels") or {},
        size=found["Size"],
        volumes=tuple(found["Config"].get("Volumes") or ()),
    )


def _inspect(client: Any, name: str) -> Any:
    return client.inspect_image(name)


def named(engine: Engine, label: str) -> dict[str, str]:
    """The tags of all images with the label, each with its image's id."""
    found = engine.ask("list images", lambda client: client.images(filters={"label": [label]}))
    tags = [(tag, one["Id"]) for one in found for tag in one["RepoTags"] or ()]
    return {tag: id for tag, id in tags if tag != "<none>:<none>"}


def untagged(engine: Engine, label: str) -> tuple[str, ...]:
    """The ids of images with the label and no tag; those that others are built on are not
    listed."""
    filters = {"label": [label], "dangling": True}
    found = engine.ask("list images", lambda client: client.images(filters=filters))
    return tuple(one["Id"] for one in found)


def build(
    engine: Engine,
    context: IO[bytes],
    dockerfile: str,
    *,
    args: Mapping[str, str],
    labels: Mapping[str, str],
    fresh: bool = False,
) -> Iterator[dict[str, Any]]:
    """The engine's progress messages; to stop reading them stops the build."""
    what = f"build {dockerfile}"
    messages = engine.ask(
        what,
        lambda client: client.build(
            fileobj=context,
            custom_context=True,
            dockerfile=dockerfile,
            buildargs=dict(args),
            labels=dict(labels),
            nocache=fresh,
            rm=True,
            forcerm=True,
            decode=True,
            timeout=SILENT_S,
        ),
    )
    return _messages(engine, what, messages)


def commit(engine: Engine, container: str, labels: Mapping[str, str]) -> str:
    """An untagged image with the container's entry point, and without its arguments."""
    changes = ["CMD []", *(f'LABEL "{name}"="{value}"' for name, value in labels.items())]

    def request(client: Any) -> str:
        # The SDK has no time limit per call; a longer one for all calls meanwhile does no harm.
        usual, client.timeout = client.timeout, COMMIT_S
        try:
            return str(client.commit(container, changes=changes)["Id"])
        finally:
            client.timeout = usual

    return engine.ask(f"commit the container {container[:12]}", request)


def give_tag(engine: Engine, id: str, tag: str) -> None:
    name, _, version = tag.rpartition(":")
    engine.ask(f"give the image {id} the name {tag}", lambda client: client.tag(id, name, version))


def remove(engine: Engine, ids: Sequence[str]) -> None:
    """By ids or tags. An image that a container uses or another is built on stays; one with several
    tags loses only the given one."""
    for id in ids:
        try:
            engine.ask(f"remove the image {id}", partial(_remove, id=id))
        except NotThere:
            continue
        except EngineRefused as error:
            if "conflict" not in str(error):
                raise


def _remove(client: Any, id: str) -> None:
    client.remove_image(id)


def push(engine: Engine, tag: str, name: str) -> Iterator[dict[str, Any]]:
    """Tags and pushes it under another name; the last messages hold its registry digest."""
    give_tag(engine, tag, name)
    repository, _, version = name.rpartition(":")
    what = f"push {name}"
    messages = engine.ask(
        what, lambda client: client.push(repository, tag=version, stream=True, decode=True)
    )
    return _messages(engine, what, messages)


def _messages(engine: Engine, what: str, messages: Iterator[Any]) -> Iterator[dict[str, Any]]:
    try:
        while (message := engine.ask(what, lambda client: next(messages, None))) is not None:
            yield message
    finally:
        if hasattr(messages, "close"):
            messages.close()
