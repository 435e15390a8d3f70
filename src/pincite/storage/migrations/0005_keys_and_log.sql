CREATE TABLE api_keys (
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  created_at TEXT NOT NULL,
  revoked_at TEXT,
  rate_per_min INTEGER,
  daily_usd TEXT,
  PRIMARY KEY (scope, name),
  CONSTRAINT uq_api_keys_name UNIQUE (name),
  CONSTRAINT uq_api_keys_sha256 UNIQUE (sha256)
);

CREATE TABLE tool_log (
  scope TEXT NOT NULL,
  at TEXT NOT NULL,
  id TEXT NOT NULL,
  surface TEXT NOT NULL,
  tool TEXT NOT NULL,
  request TEXT NOT NULL,
  outcome TEXT NOT NULL,
  latency_ms DOUBLE PRECISION NOT NULL,
  cost_usd TEXT NOT NULL,
  tokens_in BIGINT NOT NULL,
  tokens_out BIGINT NOT NULL,
  run_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  PRIMARY KEY (scope, at, id)
);

CREATE INDEX ix_tool_log_run ON tool_log (scope, run_id);

CREATE INDEX ix_tool_log_at ON tool_log (at);
