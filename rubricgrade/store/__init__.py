"""What is kept: grades beside their trajectories, and verdicts that need not be asked again."""
