"""What operators see: counts, spans and logs. They add nothing to a run's events, and hold no text of users.

`meter` counts in the process, `spans` speaks OpenTelemetry when somebody listens, `genai` has the names of its
conventions, `logs` renders log lines with secrets taken out. None of them imports a library before it is used.
"""
