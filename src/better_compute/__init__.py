"""The control plane: pools, offers and quotas of GPU capacity."""
