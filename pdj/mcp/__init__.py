"""`kubectl pdj mcp`: the library as tools for agents, by the Model Context Protocol."""
