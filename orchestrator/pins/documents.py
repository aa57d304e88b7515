"""When are a run's two documents final? Once every device that took part is in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import EmufarmError
from .files import read_json, write_json
from .manifest import CAPABILITIES, MANIFEST, device_facts


def final_documents(run: Path, devices: Mapping[str, Mapping[str, Any]]) -> None:
    """`devices`: what each said of itself when it started, by its id. Done again with the same, it
    leaves the same bytes; it must not be done after the run is sealed."""
    for path in (run / MANIFEST, run / CAPABILITIES):
        document = read_json(path)
        try:
            document["android"].update(device_facts(devices))
        except (KeyError, TypeError, AttributeError) as error:
            raise EmufarmError(f"{path} is not a run's document: {error!r}") from error
        write_json(path, document)
