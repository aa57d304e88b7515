"""A run's folder, opened for reading: its plan, episodes, attempts, report and verification."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..coordinator import chain
from ..coordinator.transitions import AttemptCommitted, AttemptFenced, AttemptLost, EpisodeDecided
from ..errors import UsageError
from ..evidence import attempt, manifest
from ..outcome import NO_EFFORT, Effort, Judgement
from ..plan.plan import Plan
from ..plan.store import FILE as PLAN
from ..plan.store import read_plan
from ..report import build
from ..report.compare.comparison import Comparison, Wanted
from ..report.compare.comparison import compare as compare_sides
from ..report.compare.pairing import side
from ..report.model import Report
from ..report.verify.run import Proof, verify_bundle, verify_run

RUNS = Path("runs")


@dataclass(frozen=True)
class AttemptResult:
    """One attempt that ended, as the journal has it."""

    number: int
    device: str
    judgement: Judgement
    scored: bool  # False: its bundle came after its lease had ended
    bundle: Path | None  # None: it was lost without one
    seconds: float | None = None
    effort: Effort = NO_EFFORT


@dataclass(frozen=True)
class EpisodeResult:
    """One planned episode, with every attempt at it."""

    id: str
    case: str
    variant: str
    seed: int
    judgement: Judgement | None  # None: it is not decided
    attempts: tuple[AttemptResult, ...]


@dataclass(frozen=True)
class Run:
    folder: Path
    plan: Plan
    # Of a run that this process has ended; it is not computed twice.
    written: Report | None = field(default=None, repr=False, compare=False)
    cancelled: bool = field(
        default=False, compare=False
    )  # on its cluster, as far as this process knows

    @classmethod
    def open(cls, run: str | Path, runs: str | Path = RUNS) -> Run:
        """By its folder, or by its name in `runs`. UsageError where there is none."""
        folder = find_run(run, runs)
        return cls(folder, read_plan(folder / PLAN))

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def complete(self) -> bool:
        """Every episode is decided, and the journal is sealed."""
        walk = chain.JournalReader(self.folder / chain.FOLDER)
        for _ in walk:
            pass
        return walk.end.sealed

    def episodes(self) -> tuple[EpisodeResult, ...]:
        """In the plan's order. JournalBroken where the journal is not the one that was written."""
        attempts: dict[str, list[AttemptResult]] = {}
        decided: dict[str, Judgement] = {}
        for line in chain.JournalReader(self.folder / chain.FOLDER):
            match line.event:
                case AttemptCommitted() | AttemptFenced() | AttemptLost():
                    attempts.setdefault(line.event.episode, []).append(self._attempt(line.event))
                case EpisodeDecided():
                    decided[line.event.episode] = line.event.judgement
        return tuple(
            EpisodeResult(
                each.id, each.case, each.variant, each.seed, decided.get(each.id),
                tuple(attempts.get(each.id, ())),
            )
            for each in self.plan.episodes
        )  # fmt: skip

    def _attempt(self, event: AttemptCommitted | AttemptFenced | AttemptLost) -> AttemptResult:
        if isinstance(event, AttemptLost):
            return AttemptResult(event.attempt, event.device, event.judgement, True, None)
        return AttemptResult(
            event.attempt,
            event.device,
            event.judgement,
            isinstance(event, AttemptCommitted),
            self.folder / event.bundle,
            (event.ended_ms - event.started_ms) / 1000,
            event.effort,
        )

    def report(self) -> Report:
        """Computed from the plan and the journal; nothing is written."""
        return self.written or build.compute(self.folder)

    def verify(self) -> Proof:
        """Checks every byte and every decision, offline."""
        return verify_run(self.folder)


def find_run(run: str | Path, runs: str | Path = RUNS) -> Path:
    """The folder of a run that is named by its folder or by its name in `runs`."""
    folder, named = Path(run), Path(runs) / run
    found = [place for place in (folder, named) if place.is_dir()]
    # A folder that is no run may have a run's name.
    for place in sorted(found, key=lambda each: not (each / PLAN).is_file()):
        return place
    raise UsageError(
        f"there is no run {named}: name a run as `emufarm run` prints it; `emufarm runs pull "
        f"{named.name}` brings one that is on a cluster"
    )


def verify(place: str | Path, runs: str | Path = RUNS) -> Proof:
    """Check a run, by its name or folder, or a single bundle, by its folder."""
    folder = find_run(place, runs)
    if (folder / chain.FOLDER).is_dir() or (folder / PLAN).is_file():
        return verify_run(folder)
    if (folder / manifest.NAME).is_file() or (folder / attempt.NAME).is_file():
        return verify_bundle(folder)
    raise UsageError(f"{folder} is no run and no bundle: neither a journal nor a manifest is there")


def latest_run(runs: str | Path = RUNS) -> Path:
    """The run that was planned last."""
    found: list[tuple[float, Path]] = []
    for plan in Path(runs).glob(f"*/{PLAN}"):
        with suppress(FileNotFoundError):  # a run that is being removed
            found.append((plan.stat().st_mtime, plan.parent))
    if not found:
        raise UsageError(f"there is no run in {runs}: start one with `emufarm run`")
    return max(found)[1]


def compare(
    a: str | Path,
    b: str | Path,
    *,
    k: str = "",
    common: bool = False,
    across_images: bool = False,
    runs: str | Path = RUNS,
) -> Comparison:
    """Compare two runs of the same episodes, figure by figure; UsageError where they cannot be.

    `common` keeps the episodes that both plans have; `across_images` permits different images.
    """
    first, second = find_run(a, runs), find_run(b, runs)
    if first.resolve() == second.resolve():
        raise UsageError(f"{first} and {second} are one run; name two")
    return compare_sides(side(first), side(second), Wanted(k, common, across_images))
