"""Plugging rubrics into trainers and evaluation engines: one small module per host, imported on first use only.

Every adapter stands on `rewarding.Rewarder`: it never raises because of an episode, and what could not be graded
reaches the host as its own "no score", or as a number that the user chose, with a flag beside it.
"""
