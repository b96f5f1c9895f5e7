"""The control plane: pools, offers and quotas of GPU capacity."""

__version__ = "0.1.0"
