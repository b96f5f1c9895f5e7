"""The main flow: each command as numbered steps, from files to its result, in a module of its own; beside them the
steps that several commands share, and how a command ends (`finished`)."""
