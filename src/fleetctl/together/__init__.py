"""Branches beside the files at hand: `merging` puts together what each of them wishes, by the `fields` of entries, and
`union` their files, as git merges those. `joint` finds what breaks of that only together, beside what is known of each
`part` alone, and `shared` what the merged files say beyond what each entry wishes.
"""
