"""Reads YAML or JSON with the line of every field; checks, converts and renders jobs offline."""
