"""What an agent can do in a workspace: read, write, edit, grep, glob, bash, and the recall tools.

Arguments in, results out; the log and the model are not known here.
"""
