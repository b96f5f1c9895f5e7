"""The base of a change: the files of a fleet as they were (`bases`), what other `branches` have of it, and what of a
base stays in `force`. `trees` reads them out of a commit, whose objects `git` is asked for."""
