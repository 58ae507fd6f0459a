"""Scripted models and a scripted provider, for tests of programs that use slicetape."""
