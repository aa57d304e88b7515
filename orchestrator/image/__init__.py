"""Images of phones: made, baked, proven and pushed. No run and no case is known here."""
