"""The roles of a run with a language model: it plans, reads, proposes and phrases; code decides what is printed.

A model returns typed data that names ids which code offered. It never chooses a URL, a tool or the order of steps.
Each answer is checked: queries by rule, quotes by their place, claims and sentences by exact facts and a judge.
"""
