"""How this phone fails: the seam its code passes, the classes of fault, and how one is armed."""
