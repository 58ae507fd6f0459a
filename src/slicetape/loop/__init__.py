"""One turn: what happens before a step, and later around it; the writer of a session.

It must not know a provider's wire, nor how a person types.
"""
