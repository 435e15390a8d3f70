"""Text: folding with offset maps, sentences, tokens, stems, BM25. Pure functions, no input or output.

Every function that cuts text gives offsets into the text it was given, never into a cleaned copy.
"""
