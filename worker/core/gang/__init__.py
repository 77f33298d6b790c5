"""Gangs: members, their ranks, and their rendezvous."""
