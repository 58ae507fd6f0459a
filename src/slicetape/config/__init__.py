"""Settings in: a file, a profile row or keywords; out: one frozen `Settings` and its origins.

It must not know what a setting does, only what it may be.
"""

from slicetape.config.load import Loaded, from_values, load, override
from slicetape.config.names import section_problem, top_level_problem
from slicetape.config.profile import load_profile
from slicetape.config.resolve import effective

__all__ = [
    "Loaded",
    "effective",
    "from_values",
    "load",
    "load_profile",
    "override",
    "section_problem",
    "top_level_problem",
]
