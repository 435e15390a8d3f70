CREATE INDEX ix_runs_updated ON runs (scope, updated_at);

CREATE INDEX ix_calls_started ON calls (scope, started_at, call_key);

CREATE INDEX ix_citations_snapshot ON citations (scope, snapshot_id);

CREATE INDEX ix_request_keys_run ON request_keys (scope, run_id);

CREATE INDEX ix_webhooks_run ON webhooks (scope, run_id);
