"""Turns on what operators see, from the settings: logs without secrets, traces to a collector."""

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import get_args
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from pincite.domain.errors import ExtraNotInstalled, PinciteError
from pincite.domain.version import VERSION
from pincite.runtime.installing import install_extra
from pincite.runtime.telemetry.logs import Mask, configure_logs, masker
from pincite.settings import Settings, environment_names, load_settings
from pincite.urls.masking import mask_typed


def observe(settings: Settings) -> None:
    """Configure logs and traces of this process; called once by a front door that runs for long.

    Errors: ExtraNotInstalled (traces without the SDK).
    """
    configure_logs(mask_of(settings), level=settings.log_level, as_json=settings.log_format == "json")
    export_spans(settings)


def export_spans(settings: Settings) -> None:
    """Send spans to the collector of the settings, if there is one. Errors: ExtraNotInstalled (the SDK is missing)."""
    if settings.otel_endpoint:
        _export_traces(settings.otel_endpoint)


def mask_of(settings: Settings) -> Mask:
    """What takes every secret of the settings out of a text, and what looks like one in it."""
    return masker(secrets_of(settings), mask_typed)


def secrets_of(settings: Settings) -> Iterator[str]:
    """Every secret value of the settings, as it may occur in a text."""
    for value in settings.secrets:
        yield from _forms_of(value)


def _forms_of(text: str) -> Iterator[str]:
    yield text
    yield from (part.strip() for part in text.split(","))  # several keys of one provider
    if "://" in text:
        with suppress(ValueError):  # such as a bracket that is not closed: then the whole is all there is
            password = urlsplit(text).password or ""
            yield from (password, unquote(password))


def mask_of_environment() -> Mask:
    """As `mask_of`, for a process that may have no valid settings: then what its environment says of secrets counts."""
    try:
        return mask_of(load_settings())
    except PinciteError:
        return masker(_secrets_in_environment(), mask_typed)


def _secrets_in_environment() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        if SecretStr in (field.annotation, *get_args(field.annotation)):
            for variable in environment_names(name):
                yield from _forms_of(os.environ.get(variable, ""))


def _export_traces(endpoint: str) -> None:
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        raise ExtraNotInstalled("traces need the SDK of OpenTelemetry", hint=f"Run: {install_extra('otel')}")
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "pincite", "service.version": VERSION}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces")))
    trace.set_tracer_provider(provider)
