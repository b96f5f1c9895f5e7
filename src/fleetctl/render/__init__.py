"""Renderers: a report in, a string out. None knows another, and none knows a plan."""
