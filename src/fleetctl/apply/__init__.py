"""An apply: `approval` tells whether the plan is the one that somebody approved, `staleness` what moved since, and by
whom, and `origins` from which value to which. The `writer` runs it at the `pace` that the control plane bears: it makes
`attempts`, whose `answers` are held against what is wished, and names the `mover` of what is otherwise. The `journal`
keeps what became of it, and `saved` is what a file tells that is acted on."""
