"""Checking reports after the fact: whether what is printed is still what the stored pages say."""
