"""An apply: `approval` tells whether the plan is the one that somebody approved, the `writer` runs it, and the
`journal` keeps what became of it."""
