"""What the model sees: events in, nodes in order out.

It must not know why a node was replaced, nor how a provider spells it.
"""

from slicetape.surface.messages import message_at, messages
from slicetape.surface.project import project
from slicetape.surface.session import Session
from slicetape.surface.surface import Edit, Surface
from slicetape.surface.view import View

__all__ = ["Edit", "Session", "Surface", "View", "message_at", "messages", "project"]
