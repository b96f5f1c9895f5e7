"""GPU capacity as code: fleet files, plan, apply and drift."""

__version__ = "0.1.0"
