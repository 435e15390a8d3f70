"""Content-made identifiers. The same content gives the same id on every machine and in every run."""

import hashlib
import json
import secrets
import unicodedata
from datetime import UTC, datetime


def sha256_hex(data: bytes) -> str:
    """The SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def _short(prefix: str, *parts: str) -> str:
    # A unit separator cannot occur in the parts' own formats, so ("ab", "c") and ("a", "bc") differ.
    return prefix + sha256_hex("\x1f".join(parts).encode())[:32]


def snapshot_id(final_url: str, fetched_at: datetime, body_sha256: str) -> str:
    """`snap_` + 32 hex: one capture of one URL at one time."""
    return _short("snap_", final_url, fetched_at.astimezone(UTC).isoformat(), body_sha256)


def document_id(extractor: str, version: str, text: str) -> str:
    """`doc_` + 32 hex: what one version of one extractor read out of a page."""
    return _short("doc_", extractor, version, text)


def claim_id(text: str, sub_question: str) -> str:
    """`claim_` + 32 hex, stable over rounds, resume and replay: case, spacing and width do not matter."""
    return _short("claim_", _normal(text), _normal(sub_question))


def report_id(run_id: str, version: int) -> str:
    """`rep_` + 32 hex: one version of the report of one run."""
    return _short("rep_", run_id, str(version))


def topic_hash(question: str) -> str:
    """16 hex digits that group events of one question without revealing it."""
    return sha256_hex(_normal(question).encode())[:16]


def statement_sha256(text: str) -> str:
    """The hash of a statement as it is printed."""
    return hashlib.sha256(text.encode()).hexdigest()


def judgement_id(judge: str, statement: str, evidence: str, label: str, beyond: str) -> str:
    """The id of a judgement; `statement` and `evidence` are their hashes."""
    made = json.dumps([judge, statement, evidence, label, beyond], ensure_ascii=False).encode()
    return "jdg_" + hashlib.sha256(made).hexdigest()[:32]


def new_run_id() -> str:
    """A fresh `run_` id: sortable by time, unguessable."""
    return f"run_{datetime.now(UTC):%Y%m%d%H%M%S}_{secrets.token_hex(6)}"


def new_request_id() -> str:
    """A fresh `req_` id: ties what one request of a caller led to together."""
    return f"req_{secrets.token_hex(8)}"


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
