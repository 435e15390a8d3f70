CREATE TABLE schema_versions (
  scope TEXT NOT NULL,
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  applied_at TEXT NOT NULL,
  PRIMARY KEY (scope, version)
);

CREATE TABLE runs (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT DEFAULT '' NOT NULL,
  project TEXT DEFAULT '' NOT NULL,
  inputs TEXT NOT NULL,
  budget TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  epoch INTEGER DEFAULT '0' NOT NULL,
  worker TEXT DEFAULT '' NOT NULL,
  lease_until_s DOUBLE PRECISION DEFAULT '0' NOT NULL,
  priority INTEGER DEFAULT '0' NOT NULL,
  cancel_requested BOOLEAN NOT NULL,
  cap_searches BIGINT,
  cap_pages BIGINT,
  cap_web_requests BIGINT,
  cap_size_bytes BIGINT,
  cap_tokens_in BIGINT,
  cap_tokens_out BIGINT,
  cap_cost_nanousd BIGINT,
  spent_searches BIGINT DEFAULT '0' NOT NULL,
  spent_pages BIGINT DEFAULT '0' NOT NULL,
  spent_web_requests BIGINT DEFAULT '0' NOT NULL,
  spent_size_bytes BIGINT DEFAULT '0' NOT NULL,
  spent_tokens_in BIGINT DEFAULT '0' NOT NULL,
  spent_tokens_out BIGINT DEFAULT '0' NOT NULL,
  spent_cost_nanousd BIGINT DEFAULT '0' NOT NULL,
  reserved_searches BIGINT DEFAULT '0' NOT NULL,
  reserved_pages BIGINT DEFAULT '0' NOT NULL,
  reserved_web_requests BIGINT DEFAULT '0' NOT NULL,
  reserved_size_bytes BIGINT DEFAULT '0' NOT NULL,
  reserved_tokens_in BIGINT DEFAULT '0' NOT NULL,
  reserved_tokens_out BIGINT DEFAULT '0' NOT NULL,
  reserved_cost_nanousd BIGINT DEFAULT '0' NOT NULL,
  PRIMARY KEY (scope, run_id)
);

CREATE INDEX ix_runs_scope_created ON runs (scope, created_at);

CREATE INDEX ix_runs_status_lease ON runs (status, lease_until_s);

CREATE TABLE calls (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  call_key TEXT NOT NULL,
  kind TEXT NOT NULL,
  request TEXT NOT NULL,
  status TEXT NOT NULL,
  outcome TEXT,
  epoch INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  settled_at TEXT,
  latency_ms DOUBLE PRECISION,
  estimate_searches BIGINT DEFAULT '0' NOT NULL,
  estimate_pages BIGINT DEFAULT '0' NOT NULL,
  estimate_web_requests BIGINT DEFAULT '0' NOT NULL,
  estimate_size_bytes BIGINT DEFAULT '0' NOT NULL,
  estimate_tokens_in BIGINT DEFAULT '0' NOT NULL,
  estimate_tokens_out BIGINT DEFAULT '0' NOT NULL,
  estimate_cost_nanousd BIGINT DEFAULT '0' NOT NULL,
  used_searches BIGINT DEFAULT '0' NOT NULL,
  used_pages BIGINT DEFAULT '0' NOT NULL,
  used_web_requests BIGINT DEFAULT '0' NOT NULL,
  used_size_bytes BIGINT DEFAULT '0' NOT NULL,
  used_tokens_in BIGINT DEFAULT '0' NOT NULL,
  used_tokens_out BIGINT DEFAULT '0' NOT NULL,
  used_cost_nanousd BIGINT DEFAULT '0' NOT NULL,
  PRIMARY KEY (scope, run_id, call_key)
);

CREATE TABLE provider_attempts (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  call_key TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  n INTEGER NOT NULL,
  provider TEXT NOT NULL,
  outcome TEXT NOT NULL,
  latency_ms DOUBLE PRECISION NOT NULL,
  cost_nanousd BIGINT NOT NULL,
  detail TEXT DEFAULT '' NOT NULL,
  PRIMARY KEY (scope, run_id, call_key, attempt, n)
);

CREATE TABLE events (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  identity TEXT NOT NULL,
  type TEXT NOT NULL,
  at TEXT NOT NULL,
  data TEXT NOT NULL,
  request_id TEXT,
  topic_hash TEXT,
  PRIMARY KEY (scope, run_id, seq),
  CONSTRAINT uq_events_identity UNIQUE (scope, run_id, identity)
);

CREATE TABLE blobs (
  scope TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  encoding TEXT NOT NULL,
  content {bytes} NOT NULL,
  size_bytes BIGINT NOT NULL,
  stored_bytes BIGINT NOT NULL,
  stored_at TEXT NOT NULL,
  PRIMARY KEY (scope, sha256)
);

CREATE TABLE snapshots (
  scope TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  url TEXT NOT NULL,
  final_url TEXT NOT NULL,
  canonical_url TEXT NOT NULL,
  status INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  headers TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  fetched_at TEXT NOT NULL,
  via TEXT NOT NULL,
  robots TEXT NOT NULL,
  usage_signals TEXT NOT NULL,
  redirects TEXT NOT NULL,
  note TEXT DEFAULT '' NOT NULL,
  stored_at TEXT NOT NULL,
  PRIMARY KEY (scope, snapshot_id)
);

CREATE INDEX ix_snapshots_body ON snapshots (scope, body_sha256);

CREATE INDEX ix_snapshots_stored ON snapshots (scope, stored_at);

CREATE TABLE documents (
  scope TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  extractor TEXT NOT NULL,
  version TEXT NOT NULL,
  document_id TEXT NOT NULL,
  content_sha256 TEXT NOT NULL,
  stored_at TEXT NOT NULL,
  PRIMARY KEY (scope, snapshot_id, extractor, version)
);

CREATE INDEX ix_documents_content ON documents (scope, content_sha256);

CREATE INDEX ix_documents_document ON documents (scope, document_id);

CREATE TABLE run_snapshots (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  PRIMARY KEY (scope, run_id, snapshot_id)
);

CREATE INDEX ix_run_snapshots_snapshot ON run_snapshots (scope, snapshot_id);

CREATE TABLE reports (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  report_id TEXT NOT NULL,
  status TEXT NOT NULL,
  title TEXT NOT NULL,
  created_at TEXT NOT NULL,
  content {bytes} NOT NULL,
  PRIMARY KEY (scope, run_id, version)
);

CREATE TABLE claims (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  report_version INTEGER NOT NULL,
  claim_id TEXT NOT NULL,
  text TEXT NOT NULL,
  type TEXT NOT NULL,
  confidence DOUBLE PRECISION NOT NULL,
  verdict TEXT NOT NULL,
  independent_sources INTEGER NOT NULL,
  PRIMARY KEY (scope, run_id, report_version, claim_id)
);

CREATE TABLE evidence (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  report_version INTEGER NOT NULL,
  claim_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  document_id TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  url TEXT NOT NULL,
  start_offset INTEGER NOT NULL,
  end_offset INTEGER NOT NULL,
  quote TEXT NOT NULL,
  relation TEXT NOT NULL,
  reference_n INTEGER,
  PRIMARY KEY (scope, run_id, report_version, claim_id, n)
);

CREATE INDEX ix_evidence_snapshot ON evidence (scope, snapshot_id);

CREATE TABLE citations (
  scope TEXT NOT NULL,
  run_id TEXT NOT NULL,
  report_version INTEGER NOT NULL,
  n INTEGER NOT NULL,
  url TEXT NOT NULL,
  title TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  accessed_at TEXT NOT NULL,
  published_at TEXT,
  excerpt TEXT NOT NULL,
  PRIMARY KEY (scope, run_id, report_version, n)
);
