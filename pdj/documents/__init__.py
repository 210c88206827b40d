"""Files of YAML or JSON: read with the line of every field, checked and rendered offline."""
