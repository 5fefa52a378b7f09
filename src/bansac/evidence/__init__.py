"""Evidence: what the data say of a model, without words. ``estimate.verdict`` has the words."""
