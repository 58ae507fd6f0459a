"""Bytes: messages come in, the exact request of a provider family goes out, and back.

It also says whether a request is valid (`lint`) and whether it extends the last one (`prefix`).
It knows nothing of policies, prices, sockets or clocks.
"""
