"""The sandbox of one run on one machine: namespaces, a root of its own, a user of its own, and a filter of system calls.

Only the standard library is imported here: every rank pays for it.
"""
