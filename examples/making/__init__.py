"""How the stored episodes of the examples were made: scripted agents, played against real tools."""
