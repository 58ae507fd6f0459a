"""Other libraries on the same requests: what each would send, measured by the same meter.

In come recordings, out go rows beside those of the arms. Nothing of a peer is imported here: each
runs in an environment of its own. It must not know how an arm decides.
"""
