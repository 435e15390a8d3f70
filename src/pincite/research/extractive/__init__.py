"""The roles without a model: rules over the words of the question and of the pages. Same pages, same report.

`questions` reads the question, `passages` cuts documents into citable statements, `ranking` scores them, `claims`
turns a statement into a self-contained claim with quotes; `planner`, `analyst`, `verifier`, `writer` are the roles.
"""
