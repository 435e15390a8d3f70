"""Which passages of some pages answer a question: passages in context, words and meaning, a calibrated likelihood."""
