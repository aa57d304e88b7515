"""Which images has the engine, and how is one built, committed, named, pushed and removed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from ...errors import EmufarmError
from .engine import Engine, EngineRefused, NotThere

SILENT_S = 3600  # how long one step of a build may say nothing
COMMIT_S = 900  # a snapshot's gigabytes are written once more


class ImageFailed(EmufarmError):
    """An image could not be made, is not what it says it is, or does not work."""


@dataclass(frozen=True)
class Image:
    id: str
    tags: tuple[str, ...]
    labels: Mapping[str, str]
    size: int
    volumes: tuple[str, ...]  # where it wants a disk of its own


def image(engine: Engine, name: str) -> Image | None:
    """By its tag or id; None where the engine has none."""
    try:
        told = engine.ask(f"look at the image {name}", partial(_inspected, name=name))
    except NotThere:
        return None
    return Image(
        id=told["Id"],
        tags=tuple(told["RepoTags"] or ()),
        labels=told["Config"].get("Labels") or {},
        size=told["Size"],
        volumes=tuple(told["Config"].get("Volumes") or ()),
    )


def _inspected(client: Any, name: str) -> Any:
    return client.inspect_image(name)


def named(engine: Engine, label: str) -> dict[str, str]:
    """Each name of those that have the label, with its image's id."""
    found = engine.ask("list images", lambda client: client.images(filters={"label": [label]}))
    tags = [(tag, one["Id"]) for one in found for tag in one["RepoTags"] or ()]
    return {tag: id for tag, id in tags if tag != "<none>:<none>"}


def untagged(engine: Engine, label: str) -> tuple[str, ...]:
    """The ids of those that have the label and no name; what others are built on is not listed."""
    asked = {"label": [label], "dangling": True}
    found = engine.ask("list images", lambda client: client.images(filters=asked))
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
    """What the engine says of it, piece by piece; to stop listening is to stop the build."""
    what = f"build {dockerfile}"
    said = engine.ask(
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
    return _pieces(engine, what, said)


def commit(engine: Engine, container: str, labels: Mapping[str, str]) -> str:
    """An image without a name that starts as the container's own does, without its arguments."""
    changes = ["CMD []", *(f'LABEL "{name}"="{value}"' for name, value in labels.items())]

    def asked(client: Any) -> str:
        # The SDK takes no time for this call alone; whoever asks meanwhile is only more patient.
        usual, client.timeout = client.timeout, COMMIT_S
        try:
            return str(client.commit(container, changes=changes)["Id"])
        finally:
            client.timeout = usual

    return engine.ask(f"commit the container {container[:12]}", asked)


def give_tag(engine: Engine, id: str, tag: str) -> None:
    name, _, version = tag.rpartition(":")
    engine.ask(f"give the image {id} the name {tag}", lambda client: client.tag(id, name, version))


def remove(engine: Engine, ids: Sequence[str]) -> None:
    """By ids or names: one that a container has, or that is built upon, stays. An image goes with
    its last name."""
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
    """Under another name, which it keeps; the last pieces hold its digest in the registry."""
    give_tag(engine, tag, name)
    repository, _, version = name.rpartition(":")
    what = f"push {name}"
    said = engine.ask(
        what, lambda client: client.push(repository, tag=version, stream=True, decode=True)
    )
    return _pieces(engine, what, said)


def _pieces(engine: Engine, what: str, said: Iterator[Any]) -> Iterator[dict[str, Any]]:
    try:
        while (piece := engine.ask(what, lambda client: next(said, None))) is not None:
            yield piece
    finally:
        if hasattr(said, "close"):
            said.close()
