"""Provider clients: bytes of a request in, deltas out.

The official SDKs carry requests; what stands in them is made by `wire` and not known here.
"""
