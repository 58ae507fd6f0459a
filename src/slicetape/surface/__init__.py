"""What the model sees: events in, nodes in order out.

It must not know why a node was replaced, nor how a provider spells it.
"""
