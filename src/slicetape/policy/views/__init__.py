"""A text in, a smaller view of it out, or None: one way of shrinking for each kind; pure.

It must not know a session, a call or a locator: the head above a view is made elsewhere.
"""

from slicetape.policy.views.route import condense as condense
from slicetape.policy.views.rules import REFERENCE as REFERENCE
from slicetape.policy.views.rules import RULES as RULES
from slicetape.policy.views.rules import Rules as Rules
from slicetape.policy.views.subject import Condensed as Condensed
from slicetape.policy.views.subject import Kind as Kind

__all__ = ["REFERENCE", "RULES", "Condensed", "Kind", "Rules", "condense"]
