"""The dashboard *Farm*: whether the farm or the agent fails, and where its devices' time goes."""

from __future__ import annotations

from . import queries as q
from .boards import Rows, board, fill
from .panels import LOW, TALL, Column, Query, Question, bars, graph, stat, table
from .reasons import AGENT, INFRA

LOST = 'outcome="infra_failed"'
LIMITS = {1 - q.OBJECTIVE: "orange", 0.05: "red"}  # the objective, and what a run is flagged at
ATTEMPTS_BY_IMAGE = q.by_image(q.in_range("attempts_total"))
CRASHES = 'reason="emulator_crashed"'


def _lost_share(window: str) -> str:
    lost = q.total(q.in_window("attempts_total", window, LOST))
    return q.share(lost, q.total(q.in_window("attempts_total", window)))


def _failed_starts(window: str) -> str:
    failed = q.total(q.in_window("device_start_failures_total", window))
    return q.share(failed, q.total(q.in_window("device_starts_total", window)))


def farm() -> str:
    made = board(
        "emufarm-farm", "emufarm / Farm",
        "Whether the farm or the agent is failing, and what the farm's devices are doing.",
        "24h", one_run=False, report="report.json",
    )  # fmt: skip
    return fill(made, ROWS)


ROWS: Rows = {
    "Is it the farm, or the agent?": [
        stat(
            Question(
                "What share of attempts does infrastructure lose?",
                "Of the attempts that ended in the last hour. The objective allows 1 %. None of "
                "them is in a score.",
                "percentunit",
            ),
            Query(_lost_share("1h"), "lost"),
            width=6,
            steps=LIMITS,
        ),
        stat(
            Question(
                "How much of the month's budget is left?",
                "Of the 1 % of attempts that infrastructure may lose in 30 days; below 0 the "
                "objective is missed. Prometheus must keep 30 days of data.",
                "percentunit",
            ),
            Query(f"1 - ({_lost_share('30d')}) / {1 - q.OBJECTIVE:.2f}", "left"),
            width=6,
            steps={-1e9: "red", 0: "orange", 0.25: "green"},
        ),
        stat(
            Question(
                "What share of device starts fails?",
                "Of the starts of the last hour. A start is no attempt. The objective allows 1 %.",
                "percentunit",
            ),
            Query(_failed_starts("1h"), "failed"),
            width=6,
            steps=LIMITS,
        ),
        stat(
            Question(
                "How many runs are going on?",
                "Runs whose coordinator answers and that are not over.",
                "short",
            ),
            Query(f"count({q.of('run_over')} == 0) or vector(0)", "runs"),
            width=6,
        ),
        bars(
            Question(
                "How do attempts end?",
                "Red is infrastructure's, orange and yellow are the agent's, purple is "
                "nobody's: its success is not known.",
                "short",
            ),
            Query(q.total(q.in_step("attempts_total"), "outcome"), "{{outcome}}"),
        ),
        bars(
            Question(
                "Why does infrastructure lose attempts?",
                "By reason, from the closed list; `other` is what nobody classified.",
                "short",
            ),
            Query(q.named(q.in_step("infra_failures_total"), "reason"), "{{reason}}"),
            colours=INFRA,
        ),
        graph(
            Question(
                "Is the objective kept?",
                "The share of attempts that infrastructure loses, over the longer windows of the "
                "alerts. 1 % is allowed; each line of the grid is ten times the one below it.",
                "percentunit",
            ),
            *(Query(_lost_share(window), f"over {window}") for window in ("3d", "6h", "1h")),
            Query(f"vector({1 - q.OBJECTIVE:.2f})", "allowed"),
            shares=True,
        ),
        bars(
            Question(
                "Why does the agent fail?",
                "By reason. It wakes nobody, and is shown so that it is not mistaken for the farm.",
                "short",
            ),
            Query(q.named(q.in_step("agent_failures_total"), "reason"), "{{reason}}"),
            colours=AGENT,
        ),
    ],
    "Devices": [
        graph(
            Question(
                "What are the devices doing?",
                "All devices of the runs, by their state.",
                "short",
            ),
            Query(q.total(q.of("devices"), "state"), "{{state}}"),
            stacked=True,
        ),
        bars(
            Question(
                "Do devices start?",
                "Starts by their result. A slot is given up after five failures in a row.",
                "short",
            ),
            Query(q.total(q.in_step("device_starts_total"), "result"), "{{result}}"),
        ),
        bars(
            Question(
                "Why do device starts fail?",
                "By phase, provision (before the emulator ran) or boot, and reason.",
                "short",
            ),
            Query(
                q.named(q.in_step("device_start_failures_total"), "phase", "reason"),
                "{{phase}} {{reason}}",
            ),
            colours=INFRA,
        ),
        bars(
            Question(
                "Why are devices lost?",
                "Devices or workers that ended after their start, by cause.",
                "short",
            ),
            Query(q.named(q.in_step("devices_lost_total"), "cause"), "{{cause}}"),
            colours=INFRA,
        ),
        graph(
            Question(
                "How long does a boot take?",
                "Until the worker found the phone ready; half of the boots of an hour, and all "
                "but one in twenty, are below these lines.",
                "s",
            ),
            Query(q.quantile(0.5, "boot_seconds", "1h"), "median"),
            Query(q.quantile(0.95, "boot_seconds", "1h"), "95 %"),
        ),
        graph(
            Question(
                "How long does a reset take?",
                "Loading the snapshot and proving it; half of the resets of an hour, and all "
                "but one in twenty, are below these lines.",
                "s",
            ),
            Query(q.quantile(0.5, "phase_seconds", "1h", matchers='phase="reset"'), "median"),
            Query(q.quantile(0.95, "phase_seconds", "1h", matchers='phase="reset"'), "95 %"),
        ),
    ],
    "Images and cost": [
        table(
            Question(
                "How do the images compare?",
                "Over the time range of the dashboard, runs that have ended included. Crashes "
                "are those that cost an attempt and that no agent caused.",
                "short",
            ),
            [
                Column(Query(ATTEMPTS_BY_IMAGE, "attempts"), "short"),
                Column(
                    Query(
                        q.share(
                            q.by_image(q.in_range("attempts_total", LOST)),
                            ATTEMPTS_BY_IMAGE,
                        ),
                        "lost to infrastructure",
                    ),
                    "percentunit",
                ),
                Column(
                    Query(
                        q.share(
                            q.by_image(q.in_range("infra_failures_total", CRASHES)),
                            ATTEMPTS_BY_IMAGE,
                        ),
                        "lost to a crash",
                    ),
                    "percentunit",
                ),
                Column(
                    Query(
                        "histogram_quantile(0.95, "
                        f"{q.by_image(q.in_range('boot_seconds_bucket'), 'le')}) >= 0",
                        "boot, 95 %",
                    ),
                    "s",
                ),
                Column(
                    Query(
                        "histogram_quantile(0.95, "
                        + q.by_image(q.in_range("phase_seconds_bucket", 'phase="reset"'), "le")
                        + ") >= 0",
                        "reset, 95 %",
                    ),
                    "s",
                ),
            ],
            ["profile", "image"],
            LOW,
        ),
        bars(
            Question(
                "What is the devices' time spent on?",
                "Seconds of devices by what they were at, counted when a boot or an attempt "
                "ends: a long one is in one bar. Idle time is in none.",
                "s",
            ),
            Query(q.total(q.in_step("device_seconds_total"), "phase"), "{{phase}}"),
        ),
        stat(
            Question(
                "How much device time was spent?",
                "Seconds of boots and attempts, over the time range of the dashboard.",
                "s",
            ),
            Query(q.total(q.in_range("device_seconds_total")), "spent"),
            width=6,
            height=TALL,
        ),
        stat(
            Question(
                "How much of it did infrastructure lose?",
                "Seconds of attempts that infrastructure failed, over the same time.",
                "s",
            ),
            Query(q.total(q.in_range("device_seconds_lost_total")), "lost"),
            width=6,
            height=TALL,
        ),
    ],
    "Coordinators": [
        graph(
            Question(
                "Do coordinators keep up?",
                "The time that a commit takes, from the whole upload to the synced journal "
                "line, and a sync of the journal alone: all but one in twenty of ten minutes.",
                "s",
            ),
            Query(q.quantile(0.95, "commit_seconds", "10m"), "commit"),
            Query(q.quantile(0.95, "journal_sync_seconds", "10m"), "journal sync"),
        ),
        graph(
            Question(
                "How much room have the volumes?",
                "The free share of each run's volume; at a tenth nothing more is leased on a "
                "cluster.",
                "percentunit",
            ),
            Query(
                f"{q.of('volume_free_bytes')} / {q.of('volume_size_bytes')} >= 0", "{{instance}}"
            ),
        ),
        bars(
            Question(
                "What does the farm do about failures?",
                "Further attempts, devices in quarantine, leases that ran out, and late "
                "bundles, which are kept and not scored.",
                "short",
            ),
            Query(q.total(q.in_step("retries_total")), "retries"),
            Query(q.total(q.in_step("quarantines_total")), "quarantines"),
            Query(q.total(q.in_step("leases_expired_total")), "leases expired"),
            Query(q.total(q.in_step("fenced_total")), "fenced"),
        ),
        graph(
            Question(
                "How much evidence comes in?",
                "Bytes of bundles that were stored, per second.",
                "Bps",
            ),
            Query(f"sum(rate({q.of('evidence_bytes_total')}[10m]))", "evidence"),
        ),
    ],
}
