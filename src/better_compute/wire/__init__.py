"""The JSON spelling of commands, inputs, views and events: the one seam between snake_case and camelCase."""
