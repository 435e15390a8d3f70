ALTER TABLE runs ADD COLUMN for_workers BOOLEAN DEFAULT FALSE NOT NULL;

ALTER TABLE runs ADD COLUMN deaths INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE runs ADD COLUMN offered_at_s DOUBLE PRECISION DEFAULT '0' NOT NULL;

ALTER TABLE runs ADD COLUMN request_id TEXT DEFAULT '' NOT NULL;

CREATE INDEX ix_runs_project ON runs (scope, project, created_at);

CREATE TABLE tool_log (
  scope TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  at TEXT NOT NULL,
  surface TEXT NOT NULL,
  tool TEXT NOT NULL,
  request TEXT NOT NULL,
  outcome TEXT NOT NULL,
  latency_ms DOUBLE PRECISION NOT NULL,
  cost_nanousd BIGINT NOT NULL,
  run_id TEXT DEFAULT '' NOT NULL,
  request_id TEXT DEFAULT '' NOT NULL,
  PRIMARY KEY (scope, entry_id)
);

CREATE INDEX ix_tool_log_at ON tool_log (scope, at);
