"""Reviewing what judges decided: records of people beside the trajectories, and the pages to make them with.

A grade is never changed. What people decide is kept apart, and an effective grade is worked out from both on reading.
"""
