CREATE TABLE request_keys (
  scope TEXT NOT NULL,
  request_key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  run_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (scope, request_key)
);

CREATE TABLE spendings (
  scope TEXT NOT NULL,
  key_name TEXT NOT NULL,
  day TEXT NOT NULL,
  taken_nanousd BIGINT NOT NULL,
  PRIMARY KEY (scope, key_name, day)
);

CREATE TABLE webhooks (
  scope TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  url TEXT NOT NULL,
  status TEXT NOT NULL,
  tries INTEGER NOT NULL,
  next_at_s DOUBLE PRECISION NOT NULL,
  detail TEXT DEFAULT '' NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (scope, delivery_id)
);

CREATE INDEX ix_webhooks_due ON webhooks (status, next_at_s);
