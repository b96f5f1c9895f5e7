"""The HTTP API: one handler without a framework, and the doors to it."""
