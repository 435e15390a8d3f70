"""Telling callers that a run has ended: signed, tried again for a while, never to an internal address."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

import anyio
from fastapi import APIRouter, Request

from pincite.domain.codec import to_json
from pincite.domain.errors import PinciteError, RunNotFound
from pincite.domain.records import Webhook
from pincite.engine import Engine
from pincite.surfaces.http import shapes
from pincite.surfaces.http.gate import LOCAL_SCOPE
from pincite.surfaces.http.service import Scope, Service, service_of
from pincite.surfaces.http.shapes import shaped

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])
log = logging.getLogger(__name__)

# Runs take minutes: a second later is at once.
LOOK_EVERY_S = 1.0
# As other senders of webhooks have it (GitHub: 10 s); the receiver should only take note. Chosen, not measured.
TRY_S = 15.0
# After each failed try; when they are used up, the webhook is given up.
WAITS_S = (5.0, 60.0, 600.0, 3600.0)
# RFC 9110 §15.5.11: asked never to come again.
GONE = 410


@router.get("/secret", response_model=None, responses=shaped(shapes.WebhookSecret))
async def secret(request: Request, scope: Scope) -> dict[str, Any]:
    """What the webhooks of the caller are signed with, as the libraries of Standard Webhooks take it."""
    engine = await service_of(request).engine(scope)
    return {"secret": (await engine.server_services()).hooks.secret(scope)}


async def deliver(service: Service) -> None:
    """Send what is due, for ever."""
    while True:
        try:
            engine = await service.engine(LOCAL_SCOPE)
            due = await (await engine.server_services()).due_webhooks()
        except PinciteError as error:
            log.warning("webhooks can't be looked up: %s", error.message)
            due = ()
        async with anyio.create_task_group() as tries:
            for webhook in due:
                tries.start_soon(_try, service, webhook)
        with anyio.move_on_after(LOOK_EVERY_S):
            await service.closing.wait()


async def _try(service: Service, webhook: Webhook) -> None:
    try:
        engine = await service.engine(webhook.scope)
        services = await engine.server_services()
        status, detail = 0, ""
        try:
            body = await _body(engine, webhook)
            # The time of this try: receivers refuse signatures that are minutes old (Standard Webhooks).
            now_s = int(datetime.now(UTC).timestamp())
            with anyio.fail_after(TRY_S):
                status = await services.hooks.send(webhook.scope, webhook.url, webhook.delivery_id, now_s, body)
            detail = f"status {status}"
        except RunNotFound:
            return  # deleted meanwhile, and its webhooks with it
        except TimeoutError:
            detail = "timeout"
        except PinciteError as error:
            detail = error.code.lower()
            # An address that may not be called will not be allowed in an hour.
            status = 0 if error.retryable else GONE
        if 200 <= status < 300:
            await services.memory.webhook_tried(webhook.delivery_id, "sent", detail=detail)
        elif status == GONE or webhook.tries >= len(WAITS_S):
            await services.memory.webhook_tried(webhook.delivery_id, "given_up", detail=detail)
        else:
            wait = WAITS_S[webhook.tries]
            await services.memory.webhook_tried(webhook.delivery_id, "waiting", next_in_s=wait, detail=detail)
    except PinciteError as error:
        log.warning("the webhook %s can't be noted: %s", webhook.delivery_id, error.message)


async def _body(engine: Engine, webhook: Webhook) -> bytes:
    record = await engine.run(webhook.run_id)
    data = {
        "id": record.run_id,
        "status": str(record.status),
        "question": record.question,
        "reason": record.reason,
        "usage": to_json(record.usage, outside=True),
        "report_url": f"/v1/research/{record.run_id}/report",
    }
    at = to_json(record.updated_at, outside=True)
    return json.dumps({"type": f"research.{record.status}", "timestamp": at, "data": data}, ensure_ascii=False).encode()
