"""Read golden folding data: the settings that the reference had, and counts in its words."""

import json
from typing import Any

from data import shared
from slicetape.policy.fold_state import FoldStats
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import DigestSettings, FoldSettings
from slicetape.policy.views import Rules

FOLD = {
    "pinSteps": 0,
    "pinMaxChars": 8000,
    "spillPreviewMinBytes": 50_000,
    "backoffAfterExpansions": 2,
}


def folding_of(fold: dict[str, Any], digest: dict[str, Any], rules: Rules) -> Folding:
    """The folding of a golden case: its own settings over the defaults of the reference."""
    default = json.loads(shared("golden/digest/misc.json").read_text())["defaultPolicy"]
    return Folding(
        fold=FoldSettings(**_named(FOLD | fold)),
        digest=DigestSettings(**_named(default | digest)),
        rules=rules,
    )


def counts(stats: FoldStats) -> dict[str, Any]:
    """Statistics in the shape of golden `stats`."""
    return {
        "folded": stats.folded,
        "charsBefore": stats.chars_before,
        "charsAfter": stats.chars_after,
        "expanded": stats.expanded,
        "backedOff": list(stats.backed_off),
        "spilled": stats.spilled,
    }


def _named(section: dict[str, Any]) -> dict[str, Any]:
    return {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in key): float(value)
        if value == "Infinity"
        else value
        for key, value in section.items()
    }
