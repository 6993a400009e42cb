"""What hosts hand over and what they take: episodes and rows in, rewards out, in the shapes of their own protocols.

No host's package is needed for any of it; adapters and the reward server stand on it.
"""
