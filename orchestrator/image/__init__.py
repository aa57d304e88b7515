"""Builds, bakes, proves and pushes images of phones. It knows neither runs nor cases."""
