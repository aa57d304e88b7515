"""The application: wires the rooms into runs. The public Python API; nothing is printed here."""
