"""Foreign transcripts in, events out: what another program recorded, as a session of ours.

It must not know what a policy does with the session.
"""
