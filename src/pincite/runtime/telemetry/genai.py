"""Names of OpenTelemetry's conventions for generative AI, in one place: they are all still marked as developing.

Source: opentelemetry semantic-conventions-genai, attribute registry (2026); only what has settled is used, and no
prompt or answer is ever an attribute.
"""

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CHAT: Final = "chat"
ERROR_TYPE: Final = "error.type"
RUN_ID: Final = "pincite.run_id"
REQUEST_ID: Final = "pincite.request_id"
TOPIC_HASH: Final = "pincite.topic_hash"
CALL_KIND: Final = "pincite.call.kind"
CALL_KEY: Final = "pincite.call.key"
COST_USD: Final = "pincite.cost_usd"
REPLAYED: Final = "pincite.call.replayed"
OF_MODELS: Final = "model"
"""The kind of a call that asks a language model."""


def of_model(label: str) -> dict[str, str]:
    """The attributes of a call to a model that is named `provider:model`."""
    provider, _, name = label.partition(":")
    return {OPERATION: CHAT, PROVIDER: provider, REQUEST_MODEL: name or provider}
