"""A recorded session under another policy: what it would have cost, without a model.

It must not know how an arm decides: the live code does that.
"""
