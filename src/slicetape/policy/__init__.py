"""What to change: a view and settings in, decisions out; pure.

It must not read a file, a clock or the network, and it appends nothing.
"""
