"""The rules of the pools system: pure, without I/O, clock or randomness."""
