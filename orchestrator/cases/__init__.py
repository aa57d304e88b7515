"""Cases: what a person may ask of a phone, and how its answer is known. One folder, one file."""
