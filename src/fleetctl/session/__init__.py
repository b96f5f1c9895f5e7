"""A session: the `target` is which control plane, as whom; `opening` one reads the files, and the live state there."""
