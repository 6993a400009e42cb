"""The pages of the review app: plain HTML from a server of one's own, with as little script as keys need."""
