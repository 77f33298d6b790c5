"""The warm parent: a process with torch and Horovod imported that forks a run's ranks in milliseconds.

It runs in its own session and outlives the worker's daemon, which finds it again by a socket in its directory. It is part of
the SDK, so that no platform package is ever imported in a rank.
"""
