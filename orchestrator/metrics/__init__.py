"""What a run is counted by, for Prometheus: derived from its journal and its state.

No score is computed here, and nothing here changes a run.
"""
