"""summary.json of an attempt that was played under a lease."""

from __future__ import annotations

from typing import Any

from ..coordinator.lease import Lease
from ..evidence.summary import judged_words
from ..outcome import Judgement


def summary_document(lease: Lease, judgement: Judgement) -> dict[str, Any]:
    return {
        "case_id": lease.case["id"],
        "variant": lease.variant,
        "seed": lease.seed,
        **judged_words(judgement),
    }
