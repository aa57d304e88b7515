"""What is really in an image? Asked by our own code in a container of it, never by its labels."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from ..pins.contents import SOURCES, Contents, parsed
from .containers import Limits, Spec
from .engine import Engine
from .images import ImageFailed
from .job import FOLDER, GIVEN, running, until_end

HASH_S = 900.0
_LIMITS = Limits(cpus=2.0, memory_mb=512, pids=128)
_PACKAGE = Path(__file__).resolve().parents[1]


def contents_of(
    engine: Engine, image: str, labels: Mapping[str, str], say: Callable[[str], None]
) -> Contents:
    say("hashing what is in the image")
    package = _PACKAGE.name
    spec = Spec(
        name=f"emufarm-contents-{secrets.token_hex(4)}",
        image=image,
        entrypoint=("python3",),
        command=("-B", "-m", f"{package}.pins.contents"),
        labels=labels,
        network="none",
        limits=_LIMITS,
        env={"PYTHONPATH": FOLDER},
        mounts=(GIVEN,),
    )
    code = {f"{package}/{name}": _PACKAGE / name for name in SOURCES}
    with running(engine, spec, code) as id:
        ended = until_end(engine, id, "hashing", HASH_S, say)
    if ended is None:
        raise ImageFailed(f"hashing the image took more than {HASH_S:g} s")
    if ended.code != 0:
        raise ImageFailed(f"what is in the image cannot be hashed: {ended.why}")
    try:
        return parsed(ended.printed)
    except ValueError as error:
        raise ImageFailed(f"the image answers {ended.printed[:200]!r}: {error}") from error
