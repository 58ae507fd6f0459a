"""What an arm hides of a recorded session, and whether the model went on to use it.

In: a recording, once for all arms, and the edits and requests of each arm. Out: figures beside
cost. It must not know how an arm decides; it only looks at what stands in the requests.
"""
