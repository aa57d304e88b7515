"""PromQL of the dashboards: what is selected by their variables, and what is done with it.

Grafana replaces `$namespace`, `$run`, `$__interval` (the step of a graph) and `$__range`.
"""

from __future__ import annotations

CHOSEN = 'namespace=~"$namespace", instance=~"$run"'
# Of runs that ended within the range too; a name that was two runs counts as one.
INFO = f"topk by (namespace, instance) (1, last_over_time(emufarm_run_info{{{CHOSEN}}}[$__range]))"
OBJECTIVE = 0.99
STEP, RANGE = "$__interval", "$__range"


def of(family: str, matchers: str = "") -> str:
    """The series of a family (without its prefix) that the variables choose."""
    return f"emufarm_{family}{{{', '.join(filter(None, (CHOSEN, matchers)))}}}"


def increase(family: str, window: str = STEP, matchers: str = "") -> str:
    return f"increase({of(family, matchers)}[{window}])"


def total(expression: str, *labels: str) -> str:
    return f"sum by ({', '.join(labels)}) ({expression})" if labels else f"sum({expression})"


def named_or_none(expression: str, *labels: str) -> str:
    """The sums that are not 0; where all are, one that is called `none`: a graph of closed lists
    would else consist of zeros."""
    none = f'label_replace({total(expression)} == 0, "{labels[-1]}", "none", "", "")'
    return f"{total(expression, *labels)} > 0 or {none}"


def share(part: str, whole: str) -> str:
    """None where there is nothing to have a share of."""
    return f"{part} / ({whole} > 0)"


def quantile(q: float, family: str, window: str, *labels: str, matchers: str = "") -> str:
    """Seconds; none where nothing was observed."""
    buckets = total(increase(f"{family}_bucket", window, matchers), "le", *labels)
    return f"histogram_quantile({q:g}, {buckets}) >= 0"


def by_image(expression: str, *labels: str) -> str:
    """The sum of what runs of the same image have."""
    of_run = total(expression, "namespace", "instance", *labels)
    joined = f"{of_run} * on (namespace, instance) group_left (profile, image) {INFO}"
    return total(joined, "profile", "image", *labels)
