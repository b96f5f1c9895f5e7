"""What the control plane does: load, authorize, decide, save; one function per operation."""
