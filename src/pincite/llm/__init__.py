"""Language models behind `ports.LanguageModel`: which model, how it is asked for typed answers, what it costs.

`service` serves roles, `client` speaks with one model through pydantic-ai (extra `llm`, imported when first used),
`answers` reads what comes back. `calls` adds budget, record, retries and fallbacks.
"""
