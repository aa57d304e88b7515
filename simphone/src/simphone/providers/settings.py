"""content://settings: the rows behind the `settings` program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..services.settings import NAMESPACES, PATH
from .provider import Provider, ProviderError, Route, Table, Values
from .uri import Uri

if TYPE_CHECKING:
    from ..world import World


class SettingsProvider(Provider):
    def checked(self, world: World, uri: Uri, table: Table, values: Values) -> Values:
        if not values.get("name"):
            raise ProviderError("java.lang.IllegalArgumentException", "name cannot be null")
        kept = ("_id", "name", "value")
        return {name: value for name, value in values.items() if name in kept}

    def written(self, world: World, table: Table, kind: str, ids: Sequence[int]) -> None:
        world.settings.written(table.name.strip('"'))


def _routes() -> list[Route]:
    tables = {space: Table(f'"{space}"', ("_id", "name", "value")) for space in NAMESPACES}
    return [
        route
        for space, table in tables.items()
        for route in (Route(space, table), Route(f"{space}/*", table, by="name"))
    ]


SETTINGS = SettingsProvider("settings", PATH, _routes())
