"""MONEY: what a request costs under a provider's prefix cache and a price sheet.

In: token counts of what is sent, as prefixes that grow piece by piece, or recorded usage.
Out: cached, written and fresh tokens with the reason, and exact money. Rules and prices are data
files. It must not know where the texts come from, nor which policy chose them.
"""
