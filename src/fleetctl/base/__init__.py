"""The base of a change: the files of a fleet as they were (`bases`), what other `revisions` have of it and where they
left the others, and what of a base stays in `force`. `trees` reads them out of a commit, of whose objects `git` is
asked."""
