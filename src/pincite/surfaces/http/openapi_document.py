"""The OpenAPI 3.1 document: what FastAPI finds in the routes, the published schemas, problems, and how to sign in."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from pincite.exports import schema

PUBLISHED = ("report", "search", "fetch", "event")
PROBLEM = {
    "description": "A problem document (RFC 9457)",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
PROBLEMS: dict[int | str, dict[str, Any]] = {"4XX": PROBLEM, "5XX": PROBLEM}
"""What every route may answer; drop-in paths answer as the service they stand for."""

_SIGN_IN = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def operation_id(route: APIRoute) -> str:
    """A name for generated clients: the route's tag and function."""
    tag = str(route.tags[0]).split(": ")[-1].lower() if route.tags else "server"
    return f"{tag}_{route.name}"


def install(app: FastAPI) -> None:
    """Have `app` serve this document."""
    made: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not made:
            made.update(_document(app))
        return made

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def _document(app: FastAPI) -> dict[str, Any]:
    document: dict[str, Any] = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        summary=app.summary,
        routes=app.routes,
    )
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in PUBLISHED:
        schemas.update(_hoisted(schema.build(name)))
    schemas["Problem"] = _problem()
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    parts["securitySchemes"] = _SIGN_IN
    # A server on a loopback interface without keys asks for none.
    document["security"] = [{"bearer": []}, {"apiKey": []}, {}]
    return document


def _hoisted(found: Mapping[str, Any]) -> dict[str, Any]:
    """A published schema and its parts as components, which refer to each other as components do."""
    text = json.dumps(found).replace("#/$defs/", "#/components/schemas/")
    top: dict[str, Any] = json.loads(text)
    inner = top.pop("$defs", {})
    for name in ("$schema", "$id"):
        top.pop(name, None)
    return {**inner, top["title"]: top}


def _problem() -> dict[str, Any]:
    error: Any = schema.build("error")
    members = error["properties"]["error"]["properties"]
    more: dict[str, Any] = {
        "type": {"type": "string", "description": "A URN that ends in the code."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request_id": {"type": "string", "description": "Also in the header X-Request-Id."},
    }
    place = {"type": "object", "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}}}
    errors = {"type": "array", "items": place, "description": "What is wrong with which member of the body."}
    return {
        "title": "Problem",
        "description": "What went wrong, and what to do.",
        "type": "object",
        "properties": {**more, **members, "errors": errors},
        "required": [*more, *members],
    }
