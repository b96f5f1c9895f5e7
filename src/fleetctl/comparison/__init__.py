"""The fleet against live state, for plan and drift: `compare` is the way in. `selection` is the part that is looked at,
`causes` tell who moved, `expected` what may differ for a time, `hazards` what would be made anew by mistake,
`elsewhere` what another fleet keeps, `coverage` how much is under code, and `naming` is all that a pool goes by."""
