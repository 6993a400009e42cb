"""For authors of rubrics: start one, try it, test it by its examples, see what bluffing earns, compare two versions."""
