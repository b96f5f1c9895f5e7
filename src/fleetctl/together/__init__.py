"""Branches beside the files at hand: `branches` are read, each a `branch` with where it left the others. `merging` puts
together what each of them wishes, by the `fields` of entries and what these say in their `own` words, under the
`limits` of all, and `union` their files, as git merges those: by `lines`, after their `moves`. `joint` finds what
breaks of that only together, beside what is known of each `part` alone, and `shared` what the merged files say beyond
what each entry wishes, with its `places` in those of each.
"""
