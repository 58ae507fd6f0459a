"""What happened: events in, the same events out, durable.

It must not know what a model sees, nor what a policy wants.
"""
