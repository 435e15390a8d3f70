CREATE TABLE buckets (
  scope TEXT NOT NULL,
  bucket_key TEXT NOT NULL,
  full_1_s DOUBLE PRECISION NOT NULL,
  full_2_s DOUBLE PRECISION NOT NULL,
  full_3_s DOUBLE PRECISION NOT NULL,
  full_4_s DOUBLE PRECISION NOT NULL,
  blocked_until_s DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (scope, bucket_key)
);

CREATE TABLE breakers (
  scope TEXT NOT NULL,
  breaker_key TEXT NOT NULL,
  failures INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  open_until_s DOUBLE PRECISION NOT NULL,
  probe_until_s DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (scope, breaker_key)
);

CREATE TABLE cache_entries (
  scope TEXT NOT NULL,
  namespace TEXT NOT NULL,
  entry_key TEXT NOT NULL,
  value {bytes} NOT NULL,
  sha256 TEXT NOT NULL,
  fresh_until TEXT NOT NULL,
  stale_until TEXT NOT NULL,
  stored_at TEXT NOT NULL,
  validators TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  used_at_s DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (scope, namespace, entry_key)
);

CREATE INDEX ix_cache_entries_used ON cache_entries (scope, used_at_s);

CREATE TABLE cache_leases (
  scope TEXT NOT NULL,
  namespace TEXT NOT NULL,
  entry_key TEXT NOT NULL,
  until_s DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (scope, namespace, entry_key)
);
