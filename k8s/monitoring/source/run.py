"""The dashboard *Run*: how far one run is, how its episodes end, and what its attempts spend."""

from __future__ import annotations

from . import queries as q
from .boards import Rows, board, fill
from .panels import LOW, Column, Query, Question, bars, graph, levels, stat, table
from .reasons import AGENT, INFRA

LOST = 'outcome="infra_failed"'


def run() -> str:
    made = board(
        "emufarm-run", "emufarm / Run",
        "How far one run is, how its episodes end, and what infrastructure cost it.",
        "6h", one_run=True, report="${run}/report.json",
    )  # fmt: skip
    return fill(made, ROWS)


ROWS: Rows = {
    "Progress": [
        stat(
            Question(
                "How far is the run?",
                "The share of its episodes that have their final outcome.",
                "percentunit",
            ),
            Query(
                q.share(q.total(q.of("episodes", 'state="decided"')), q.total(q.of("episodes"))),
                "decided",
            ),
            width=6,
        ),
        stat(
            Question(
                "How long will it take?",
                "At this run's own pace; known once as many attempts have ended as devices are "
                "at work.",
                "s",
            ),
            Query(f"{q.of('eta_seconds')} >= 0", "left"),
            width=6,
            unknown="not known yet",
        ),
        stat(
            Question(
                "Does it go on?",
                "Stuck: every device is in quarantine while episodes wait. Over: it has ended, "
                "whether or not all of it is decided.",
                "none",
            ),
            Query(f"clamp_max(2 * max({q.of('stuck')}) + max({q.of('run_over')}), 2)", "state"),
            width=6,
            steps={1: "blue", 2: "red"},
            values={"0": "goes on", "1": "over", "2": "stuck"},
            unknown="its coordinator is away",
        ),
        stat(
            Question(
                "What share of its attempts did infrastructure lose?",
                "Of all attempts since it began. Above 5 % an alert asks for a look; none of "
                "them is in a score.",
                "percentunit",
            ),
            Query(
                q.share(q.total(q.of("attempts_total", LOST)), q.total(q.of("attempts_total"))),
                "lost",
            ),
            width=6,
            steps={0.01: "orange", 0.05: "red"},
        ),
        graph(
            Question(
                "How do its episodes progress?",
                "Episodes that wait for a device, are at work, or are decided.",
                "short",
            ),
            Query(q.total(q.of("episodes"), "state"), "{{state}}"),
            stacked=True,
        ),
        graph(
            Question(
                "What are its devices doing?",
                "All devices of the run, by their state.",
                "short",
            ),
            Query(q.total(q.of("devices"), "state"), "{{state}}"),
            stacked=True,
        ),
        table(
            Question(
                "What is being run?",
                "The run's plan, image and agent, as its documents name them.",
                "none",
            ),
            [
                Column(
                    Query(
                        q.total(
                            q.of("run_info"),
                            "run",
                            "plan",
                            "profile",
                            "image",
                            "agent",
                            "backend",
                            "version",
                        ),
                        "runs",
                    ),
                    "none",
                )
            ],
            ["run", "agent", "backend", "profile", "version", "image", "plan"],
            LOW,
        ),
    ],
    "Outcomes": [
        levels(
            Question(
                "How did the episodes of each variant end?",
                "Episodes by variant and final outcome. Shares and their intervals are in the "
                "report.",
                "short",
            ),
            Query(
                q.total(q.of("episodes_decided_total"), "variant", "outcome"),
                "{{variant}}, {{outcome}}",
            ),
        ),
        graph(
            Question(
                "Is it the farm, or the agent?",
                "Attempts since the run began: those that infrastructure lost, beside those "
                "that the agent failed and those that succeeded.",
                "short",
            ),
            Query(q.total(q.of("attempts_total", LOST)), "infrastructure"),
            Query(q.total(q.of("attempts_total", 'outcome=~"task_failed|agent_failed"')), "agent"),
            Query(q.total(q.of("attempts_total", 'outcome="success"')), "success"),
            Query(q.total(q.of("attempts_total", 'outcome="oracle_inconclusive"')), "inconclusive"),
        ),
        bars(
            Question(
                "Why did infrastructure lose attempts?",
                "By phase and reason, from the closed list; `other` is what nobody classified.",
                "short",
            ),
            Query(
                q.named(q.in_step("infra_failures_total"), "phase", "reason"),
                "{{phase}} {{reason}}",
            ),
            colours=INFRA,
        ),
        bars(
            Question(
                "Why did the agent fail, and what is not known?",
                "Reasons of the agent's failures, and of attempts whose success nobody knows.",
                "short",
            ),
            Query(q.named(q.in_step("agent_failures_total"), "reason"), "agent: {{reason}}"),
            Query(
                q.named(q.in_step("inconclusive_total"), "reason"),
                "inconclusive: {{reason}}",
            ),
            colours=AGENT,
        ),
        bars(
            Question(
                "Were forbidden effects seen?",
                "Episodes decided with a violation, by variant. In the benign variant each is "
                "worth a look.",
                "short",
            ),
            Query(q.total(q.in_step("violations_total"), "variant"), "{{variant}}"),
        ),
        bars(
            Question(
                "Why were devices lost, or did not start?",
                "Devices that ended after their start, by cause, and starts that failed, by "
                "reason.",
                "short",
            ),
            Query(q.named(q.in_step("devices_lost_total"), "cause"), "lost: {{cause}}"),
            Query(
                q.named(q.in_step("device_start_failures_total"), "reason"),
                "not started: {{reason}}",
            ),
            colours=INFRA,
        ),
    ],
    "Phases": [
        graph(
            Question(
                "How long does each phase take?",
                "All but one in twenty of the attempts of ten minutes are below its line.",
                "s",
            ),
            Query(q.quantile(0.95, "phase_seconds", "10m", "phase"), "{{phase}}"),
        ),
        graph(
            Question(
                "How long does an attempt take?",
                "Attempts with a bundle, half of those of ten minutes and all but one in "
                "twenty, beside the oldest one under way.",
                "s",
            ),
            Query(q.quantile(0.5, "attempt_seconds", "10m"), "median"),
            Query(q.quantile(0.95, "attempt_seconds", "10m"), "95 %"),
            Query(q.of("oldest_lease_seconds"), "oldest under way"),
        ),
        levels(
            Question(
                "What did it spend its devices' time on?",
                "Seconds of devices since the run began, by phase.",
                "s",
            ),
            Query(q.total(q.of("device_seconds_total"), "phase"), "{{phase}}"),
        ),
        graph(
            Question(
                "How much device time did infrastructure lose?",
                "Seconds of devices since the run began: all of them, and those of attempts "
                "that infrastructure failed.",
                "s",
            ),
            Query(q.total(q.of("device_seconds_total")), "spent"),
            Query(q.total(q.of("device_seconds_lost_total")), "lost"),
        ),
    ],
}
