"""The MCP server: search, fetch and research as tools of an assistant. Needs `[mcp]`."""
