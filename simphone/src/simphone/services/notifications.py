"""Posted notifications."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..clock import Clock
from ..state import Json


@dataclass(frozen=True)
class Notification:
    key: str  # 0|package|id|tag|uid, as NotificationManager spells it
    package: str
    id: int
    tag: str
    title: str
    text: str
    posted_ms: int
    activity: str = ""  # what a tap opens: an activity of the package, "" for its main one
    args: str = ""  # JSON of that activity's arguments


class Notifications:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._posted: dict[str, Notification] = {}

    def post(
        self,
        package: str,
        title: str,
        text: str,
        *,
        id: int = 1,
        tag: str = "",
        uid: int = 1000,
        activity: str = "",
        args: str = "{}",
    ) -> Notification:
        """Posts, or replaces the one of the same package, id and tag."""
        key = f"0|{package}|{id}|{tag or 'null'}|{uid}"
        posted = Notification(
            key, package, id, tag, title, text, self._clock.now_ms(), activity, args
        )
        self._posted.pop(key, None)
        self._posted[key] = posted
        return posted

    def cancel(self, key: str) -> None:
        self._posted.pop(key, None)

    def clear(self) -> None:
        self._posted = {}

    def all(self) -> list[Notification]:
        """Newest first."""
        return list(reversed(self._posted.values()))

    def save(self) -> Json:
        return [asdict(posted) for posted in self._posted.values()]

    def load(self, state: Json) -> None:
        self._posted = {posted["key"]: Notification(**posted) for posted in state}
