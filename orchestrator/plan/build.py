"""Which episodes do these cases make? Pure: the same cases and settings give the same plan."""

from __future__ import annotations

from collections.abc import Iterable

from ..cases.load import LoadedCase
from ..cases.select import Keep, selection
from ..errors import UsageError
from ..settings import RunSettings
from .plan import Episode, Plan, PlannedCase, pair_seed

MAX_EPISODES = 1_000_000


def build(
    cases: Iterable[LoadedCase],
    settings: RunSettings,
    profile: str,
    profile_digest: str,
    keep: Keep | None = None,
) -> Plan:
    """Every kept variant of every case, so many times; in the order of their ids."""
    if settings.repeats < 1:
        raise UsageError(f"{settings.repeats} repeats make no plan; ask for 1 or more")
    kept = keep or selection()
    ordered = sorted(cases, key=lambda loaded: loaded.case.id)
    episodes = [
        episode
        for loaded in ordered
        for variant in sorted(loaded.case.variants)
        if variant in settings.variants and kept(loaded.case, variant)
        for episode in _episodes(loaded, variant, settings)
    ]
    if not episodes:
        raise UsageError("no episode is left to run; ask for other cases, or less of -k")
    if len(episodes) > MAX_EPISODES:
        raise UsageError(f"{len(episodes)} episodes are more than {MAX_EPISODES}; ask for fewer")
    used = {episode.case for episode in episodes}
    return Plan(
        seed=settings.seed,
        repeats=settings.repeats,
        agent=settings.agent,
        profile=profile,
        profile_digest=profile_digest,
        cases=tuple(_planned(loaded) for loaded in ordered if loaded.case.id in used),
        episodes=tuple(episodes),
    )


def _episodes(loaded: LoadedCase, variant: str, settings: RunSettings) -> list[Episode]:
    case = loaded.case
    return [
        Episode(
            id=f"{case.id}.{variant}.{repeat}",
            case=case.id,
            variant=variant,
            repeat=repeat,
            seed=_seed(case.case_seed, settings.seed, case.id, repeat),
            expected_s=float(case.budget.seconds),
        )
        for repeat in range(1, settings.repeats + 1)
    ]


def _seed(own: int | None, seed: int, case: str, repeat: int) -> int:
    return pair_seed(seed, case, repeat) if own is None else own


def _planned(loaded: LoadedCase) -> PlannedCase:
    body = loaded.case.model_dump(mode="json", by_alias=True)
    return PlannedCase(loaded.case.id, loaded.digest, body, dict(loaded.site))
