"""PromQL of the dashboards: what is selected by their variables, and what is done with it.

Grafana replaces `$namespace`, `$run`, the step of a graph (`$__interval`, `$__interval_ms`) and the
range of the dashboard (`$__range`, `$__range_s`).
"""

from __future__ import annotations

CHOSEN = 'namespace=~"$namespace", instance=~"$run"'
# Of runs that ended within the range too; a name that was two runs counts as one.
INFO = f"topk by (namespace, instance) (1, last_over_time(emufarm_run_info{{{CHOSEN}}}[$__range]))"
OBJECTIVE = 0.99
KNOWN = "1d"  # how long a run may be away before its counters are forgotten
SLACK_S = 3600  # from a run's start until its first scrape
UNITS = {"m": 60, "h": 3600, "d": 86400}


def of(family: str, matchers: str = "") -> str:
    """The series of a family (without its prefix) that the variables choose."""
    return f"emufarm_{family}{{{', '.join(filter(None, (CHOSEN, matchers)))}}}"


def in_step(family: str, matchers: str = "") -> str:
    """What a counter counted within a step of a graph: its bars add up to what it counted."""
    return _counted(of(family, matchers), KNOWN, "$__interval", "$__interval_ms / 1000")


def in_range(family: str, matchers: str = "") -> str:
    """What a counter counted within the dashboard's time range."""
    return _counted(of(family, matchers), "$__range", "$__range", "$__range_s")


def _counted(series: str, kept: str, window: str, seconds: str) -> str:
    """The difference of two readings, each the last one that there was: unlike an increase it loses
    nothing between two windows, and estimates nothing.

    A counter that was not there before, or went down because a run has the name of another one,
    counts from 0 if its run was started within the window. Else it is an old run that came back,
    and counts from the least that was read.
    """
    now = f"last_over_time({series}[{kept}])"
    started = f"last_over_time({of('run_start_time_seconds')}[{kept}])"
    return (
        f"({now} - last_over_time({series}[{KNOWN}] offset {window}) >= 0 "
        f"or {now} and on (namespace, instance) {started} > time() - {seconds} - {SLACK_S} "
        f"or {now} - min_over_time({series}[{window}]))"
    )


def in_window(family: str, window: str, matchers: str = "") -> str:
    """What a counter counted within this time, as the rules compare it: estimated, and all of it
    where its run was started within the time."""
    series, seconds = of(family, matchers), int(window[:-1]) * UNITS[window[-1]]
    started = f"last_over_time({of('run_start_time_seconds')}[{window}])"
    return (
        f"(last_over_time({series}[{window}]) "
        f"and on (namespace, instance) {started} > time() - {seconds} "
        f"or increase({series}[{window}]))"
    )


def total(expression: str, *labels: str) -> str:
    return f"sum by ({', '.join(labels)}) ({expression})" if labels else f"sum({expression})"


def named(expression: str, *labels: str) -> str:
    """The sums that are not 0: a graph of closed lists would else consist of zeros."""
    return f"{total(expression, *labels)} > 0"


def share(part: str, whole: str) -> str:
    """None where there is nothing to have a share of."""
    return f"{part} / ({whole} > 0)"


def quantile(q: float, family: str, window: str, *labels: str, matchers: str = "") -> str:
    """Seconds; none where nothing was observed."""
    buckets = total(f"increase({of(f'{family}_bucket', matchers)}[{window}])", "le", *labels)
    return f"histogram_quantile({q:g}, {buckets}) >= 0"


def by_image(expression: str, *labels: str) -> str:
    """The sum of what runs of the same image have."""
    of_run = total(expression, "namespace", "instance", *labels)
    joined = f"{of_run} * on (namespace, instance) group_left (profile, image) {INFO}"
    return total(joined, "profile", "image", *labels)
