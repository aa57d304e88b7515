"""The browser's engine: addresses, HTTP, and documents laid out as nodes. Knows no app."""
