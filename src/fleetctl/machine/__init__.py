"""What a run takes from the machine that it is on, and leaves there: files (`disk`), the `clock`, and of its own
process the garbage `collector` and the `signals`."""
