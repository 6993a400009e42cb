"""Grades for people: what happened in one line, a summary of many, and one whole grade with its evidence."""
