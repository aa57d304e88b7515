"""The coordinator: gives leases, takes commits, and writes down every transition."""
