"""An apply: `approval` tells whether the plan is the one that somebody approved, `staleness` what moved since and who
moved it, the `writer` runs it, and the `journal` keeps what became of it. `saved` is what a plan file approves."""
