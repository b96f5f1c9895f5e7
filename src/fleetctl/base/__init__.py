"""The base of a change: the files of a fleet as they were (`bases`), and what of them stays in `force`. `trees` reads
them out of a commit, whose objects `git` is asked for."""
