"""GPU capacity as code: fleet files, plan, apply and drift."""
