"""Many episodes: a run that resumes, its statistics, calibration of tasks, and grading again without an agent."""
