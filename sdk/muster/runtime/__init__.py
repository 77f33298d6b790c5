"""The warm parent: a process that has torch and Horovod imported and forks a run's ranks in milliseconds.

It stands in its own session and outlives the worker's daemon, which finds it again by a socket in its
directory. It belongs to the SDK so that no platform package is ever imported in a rank.
"""
