"""Applies in a world where one thing happens at a time: `scheduler` owns the threads and the clock, `network` loses,
doubles and delays what is sent to the control plane of a `world`, `fleets` are what is wished, and `runs` are those of
the command, with what must hold of them."""
