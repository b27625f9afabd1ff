-- A database that lossless-claw 0.15.3 wrote, without its search index. @TOKEN@ stands for a secret.
CREATE TABLE conversations (
  conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  session_key TEXT,
  active INTEGER NOT NULL DEFAULT 1,
  archived_at TEXT,
  archive_cause TEXT,
  title TEXT,
  bootstrapped_at TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
  );
CREATE TABLE messages (
  message_id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool')),
  content TEXT NOT NULL,
  token_count INTEGER NOT NULL,
  identity_hash TEXT,
  openclaw_sender_metadata TEXT,
  transcript_entry_id TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), large_content TEXT, stable_event_key TEXT,
  UNIQUE (conversation_id, seq)
  );
CREATE TABLE summaries (
  summary_id TEXT PRIMARY KEY,
  conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('leaf', 'condensed')),
  depth INTEGER NOT NULL DEFAULT 0,
  content TEXT NOT NULL,
  token_count INTEGER NOT NULL,
  earliest_at TEXT,
  latest_at TEXT,
  descendant_count INTEGER NOT NULL DEFAULT 0,
  descendant_token_count INTEGER NOT NULL DEFAULT 0,
  source_message_token_count INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  file_ids TEXT NOT NULL DEFAULT '[]'
  , model TEXT NOT NULL DEFAULT 'unknown');
CREATE TABLE message_parts (
  part_id TEXT PRIMARY KEY,
  message_id INTEGER NOT NULL REFERENCES messages(message_id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  part_type TEXT NOT NULL CHECK (part_type IN (
  'text', 'reasoning', 'tool', 'patch', 'file',
  'subtask', 'compaction', 'step_start', 'step_finish',
  'snapshot', 'agent', 'retry'
  )),
  ordinal INTEGER NOT NULL,
  text_content TEXT,
  is_ignored INTEGER,
  is_synthetic INTEGER,
  tool_call_id TEXT,
  tool_name TEXT,
  tool_status TEXT,
  tool_input TEXT,
  tool_output TEXT,
  tool_error TEXT,
  tool_title TEXT,
  patch_hash TEXT,
  patch_files TEXT,
  file_mime TEXT,
  file_name TEXT,
  file_url TEXT,
  subtask_prompt TEXT,
  subtask_desc TEXT,
  subtask_agent TEXT,
  step_reason TEXT,
  step_cost REAL,
  step_tokens_in INTEGER,
  step_tokens_out INTEGER,
  snapshot_hash TEXT,
  compaction_auto INTEGER,
  metadata TEXT,
  UNIQUE (message_id, ordinal)
  );
CREATE TABLE summary_messages (
  summary_id TEXT NOT NULL REFERENCES summaries(summary_id) ON DELETE CASCADE,
  message_id INTEGER NOT NULL REFERENCES messages(message_id) ON DELETE RESTRICT,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (summary_id, message_id)
  );
CREATE TABLE summary_parents (
  summary_id TEXT NOT NULL REFERENCES summaries(summary_id) ON DELETE CASCADE,
  parent_summary_id TEXT NOT NULL REFERENCES summaries(summary_id) ON DELETE RESTRICT,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (summary_id, parent_summary_id)
  );
CREATE TABLE context_items (
  conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  item_type TEXT NOT NULL CHECK (item_type IN ('message', 'summary')),
  message_id INTEGER REFERENCES messages(message_id) ON DELETE RESTRICT,
  summary_id TEXT REFERENCES summaries(summary_id) ON DELETE RESTRICT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  PRIMARY KEY (conversation_id, ordinal),
  CHECK (
  (item_type = 'message' AND message_id IS NOT NULL AND summary_id IS NULL) OR
  (item_type = 'summary' AND summary_id IS NOT NULL AND message_id IS NULL)
  )
  );
CREATE TABLE large_files (
  file_id TEXT PRIMARY KEY,
  conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  file_name TEXT,
  mime_type TEXT,
  byte_size INTEGER,
  line_count INTEGER,
  storage_uri TEXT NOT NULL,
  exploration_summary TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
  );
CREATE TABLE conversation_bootstrap_state (
  conversation_id INTEGER PRIMARY KEY REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  session_file_path TEXT NOT NULL,
  last_seen_size INTEGER NOT NULL,
  last_seen_mtime_ms INTEGER NOT NULL,
  last_processed_offset INTEGER NOT NULL,
  last_processed_entry_hash TEXT,
  session_header_id TEXT,
  last_processed_entry_id TEXT,
  fork_bounded INTEGER NOT NULL DEFAULT 0,
  fork_source_message_count INTEGER NOT NULL DEFAULT 0,
  soft_reset_pruned_at TEXT,
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
  );
CREATE TABLE conversation_compaction_telemetry (
  conversation_id INTEGER PRIMARY KEY REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  last_observed_cache_read INTEGER,
  last_observed_cache_write INTEGER,
  last_observed_prompt_token_count INTEGER,
  last_observed_cache_hit_at TEXT,
  last_observed_cache_break_at TEXT,
  cache_state TEXT NOT NULL DEFAULT 'unknown'
  CHECK (cache_state IN ('hot', 'cold', 'unknown')),
  consecutive_cold_observations INTEGER NOT NULL DEFAULT 0,
  retention TEXT,
  last_leaf_compaction_at TEXT,
  turns_since_leaf_compaction INTEGER NOT NULL DEFAULT 0,
  tokens_accumulated_since_leaf_compaction INTEGER NOT NULL DEFAULT 0,
  last_activity_band TEXT NOT NULL DEFAULT 'low'
  CHECK (last_activity_band IN ('low', 'medium', 'high')),
  last_api_call_at TEXT,
  last_cache_touch_at TEXT,
  provider TEXT,
  model TEXT,
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
  );
CREATE TABLE conversation_compaction_maintenance (
  conversation_id INTEGER PRIMARY KEY REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  pending INTEGER NOT NULL DEFAULT 0,
  requested_at TEXT,
  reason TEXT,
  running INTEGER NOT NULL DEFAULT 0,
  last_started_at TEXT,
  last_finished_at TEXT,
  last_failure_summary TEXT,
  token_budget INTEGER,
  current_token_count INTEGER,
  projected_token_count INTEGER,
  raw_tokens_outside_tail INTEGER,
  context_threshold REAL,
  context_threshold_source TEXT,
  context_fresh_tail_count INTEGER,
  context_leaf_chunk_tokens INTEGER,
  retry_attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_after TEXT,
  resolution_reason TEXT,
  resolved_at TEXT,
  maintenance_revision INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
  );
CREATE TABLE focus_briefs (
  brief_id TEXT PRIMARY KEY,
  conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  session_key TEXT,
  prompt TEXT NOT NULL,
  content TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'superseded', 'failed', 'inactive')),
  token_count INTEGER NOT NULL DEFAULT 0,
  target_tokens INTEGER NOT NULL DEFAULT 0,
  covered_latest_at TEXT,
  covered_message_seq INTEGER,
  source_context_hash TEXT NOT NULL DEFAULT '',
  generator_run_id TEXT,
  generator_session_key TEXT,
  raw_result_json TEXT,
  error TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now')),
  superseded_at TEXT
  );
CREATE TABLE focus_brief_sources (
  brief_id TEXT NOT NULL REFERENCES focus_briefs(brief_id) ON DELETE CASCADE,
  summary_id TEXT NOT NULL,
  ordinal INTEGER,
  role TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  PRIMARY KEY (brief_id, summary_id, role)
  );
CREATE TABLE lcm_migration_state (
  step_name TEXT NOT NULL,
  algorithm_version INTEGER NOT NULL,
  completed_at TEXT NOT NULL DEFAULT (datetime('now')),
  PRIMARY KEY (step_name, algorithm_version)
  );
CREATE INDEX messages_conv_seq_idx ON messages (conversation_id, seq);
CREATE INDEX summaries_conv_created_idx ON summaries (conversation_id, created_at);
CREATE INDEX summary_messages_message_idx ON summary_messages (message_id);
CREATE INDEX summary_parents_parent_summary_idx ON summary_parents (parent_summary_id);
CREATE INDEX message_parts_message_idx ON message_parts (message_id);
CREATE INDEX message_parts_type_idx ON message_parts (part_type);
CREATE INDEX context_items_conv_idx ON context_items (conversation_id, ordinal);
CREATE INDEX large_files_conv_idx ON large_files (conversation_id, created_at);
CREATE INDEX bootstrap_state_path_idx
  ON conversation_bootstrap_state (session_file_path, updated_at);
CREATE INDEX compaction_telemetry_state_idx
  ON conversation_compaction_telemetry (cache_state, updated_at);
CREATE INDEX focus_briefs_conversation_status_idx
  ON focus_briefs (conversation_id, status, created_at);
CREATE INDEX focus_brief_sources_summary_idx
  ON focus_brief_sources (summary_id);
CREATE UNIQUE INDEX conversations_active_session_key_idx
  ON conversations (session_key)
  WHERE session_key IS NOT NULL AND active = 1
  ;
CREATE INDEX conversations_session_key_active_created_idx
  ON conversations (session_key, active, created_at)
  ;
CREATE INDEX conversations_session_id_active_created_idx
  ON conversations (session_id, active, created_at)
  ;
CREATE INDEX messages_conv_identity_hash_idx ON messages (conversation_id, identity_hash);
CREATE UNIQUE INDEX messages_conv_entry_unique_idx
  ON messages (conversation_id, transcript_entry_id)
  WHERE transcript_entry_id IS NOT NULL;
CREATE UNIQUE INDEX messages_stable_event_key_unique
  ON messages (conversation_id, stable_event_key)
  WHERE stable_event_key IS NOT NULL;
CREATE INDEX summaries_conv_depth_kind_idx ON summaries (conversation_id, depth, kind);
INSERT INTO conversations (conversation_id, session_id, session_key, active, bootstrapped_at, created_at, updated_at) VALUES (1, 'a1b2c3d4-0000-4000-8000-000000000001', 'agent:main:main', 1, '2026-11-18 18:29:13', '2026-11-18 18:29:13', '2026-11-18 18:29:13');
INSERT INTO conversations (conversation_id, session_id, session_key, active, bootstrapped_at, created_at, updated_at) VALUES (2, 'b2c3d4e5-0000-4000-8000-000000000002', 'agent:main:other', 1, '2026-11-18 18:29:14', '2026-11-18 18:29:14', '2026-11-18 18:29:14');
INSERT INTO conversations (conversation_id, session_id, session_key, active, created_at, updated_at) VALUES (3, 'c3d4e5f6-0000-4000-8000-000000000003', 'agent:main:cron', 1, '2026-11-18 18:29:14', '2026-11-18 18:29:14');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (1, 1, 1, 'user', 'Question 0 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 0 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, '3364141498e39826c0faafe24a45dc491c825aee3c9197f583ee4e602861886c', 'a1b2e001', '2026-05-01 10:01:01');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (2, 1, 2, 'assistant', 'I look at buoy 0.', 56, 'f6a5325f2668dceff668d74c6fd6bd03c175526a5f970c033efcc3b1b9d11ca4', 'a1b2e002', '2026-05-01 10:02:02');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (3, 1, 3, 'tool', 'buoy 0 blinks every 2 seconds', 14, 'c33213b6e899a63fd28a1a5c0ad905d73ed38b927c209a786ad4b30e3d73c3eb', 'a1b2e003', '2026-05-01 10:03:03');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (4, 1, 4, 'assistant', 'Buoy 0 blinks every 2 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '0ebca71ea7f0a44d0cae4c4f4c066f1b95b6b2c69e8c046975c142166b5b0361', 'a1b2e004', '2026-05-01 10:04:04');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (5, 1, 5, 'user', 'Question 1 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 1 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, '4586d76eb040b87de52fd62e9d5db01101f647cbb4a093d0944b813f8e99e75a', 'a1b2e005', '2026-05-01 10:05:05');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (6, 1, 6, 'assistant', 'Buoy 1 blinks every 3 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '3eeec7ad5851e40c0e3a73c86a695287ac0426cc0460d4a5c84e20adfd481333', 'a1b2e006', '2026-05-01 10:06:06');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (7, 1, 7, 'user', 'Question 2 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 2 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'e1ffe0dc30433a9d6de6eff476bfd1ff74c5710dd738985bc1a73aa58b036885', 'a1b2e007', '2026-05-01 10:07:07');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (8, 1, 8, 'assistant', 'Buoy 2 blinks every 4 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '46e99c752295c861b65f61de811de9f54281cbf81a4b1147bd7822e659c6f486', 'a1b2e008', '2026-05-01 10:08:08');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (9, 1, 9, 'user', 'Question 3 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 3 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, '0c97b8ee55c7db7804e0f911eff69b1d7fbf643ac4b6abd57c08b243bb6b697c', 'a1b2e009', '2026-05-01 10:09:09');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (10, 1, 10, 'assistant', 'I look at buoy 3.', 56, 'ef4d8c03342bef8c9f07ee9af4c3e4179dbec2f850f5666522f5aba92f1091ee', 'a1b2e010', '2026-05-01 10:10:10');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (11, 1, 11, 'tool', '[LCM Tool Output: file_3788fa85f7834c44 | tool=look | 6,304 bytes]

Exploration Summary:
Text exploration summary (look.txt):
Characters: 6,304.
Words: 1,261.
Lines: 181.
Detected section headers: none detected.
Opening excerpt: LOG line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line o.
Closing excerpt: ers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345.

Call lcm_describe(id="<file_id above>", expandFile=true) to fetch the full output content from disk.', 348, '51fa3f662aeab77604a578c19a7af0d32a57bf62e95b3ea686851a0dfce11098', 'a1b2e011', '2026-05-01 10:11:11');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (12, 1, 12, 'assistant', 'Buoy 3 blinks every 5 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '133d85e015db81b655e98b70ebbc133beb0536a0e3dfaa25a25effb0ad360d76', 'a1b2e012', '2026-05-01 10:12:12');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (13, 1, 13, 'user', 'Question 4 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 4 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'a9e130ce9d9f528c29537baa8b09cd822aa20ade939e5fcca38a78691dad42b2', 'a1b2e013', '2026-05-01 10:13:13');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (14, 1, 14, 'assistant', 'Buoy 4 blinks every 6 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '9b689d9b2090b15cee1a5c9a49acb4f435f80b9288b71a3f772558b8fa4b2907', 'a1b2e014', '2026-05-01 10:14:14');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (15, 1, 15, 'user', 'Question 5 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 5 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'a12d05c010619c369bd86d3baa5596a846271dbb3143d6fa6ca3b2a8f58f1834', 'a1b2e015', '2026-05-01 10:15:15');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (16, 1, 16, 'assistant', 'Buoy 5 blinks every 7 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '3c89d1c4892a57f71e7b13b5893e310498194e054503ad29738edd6cb3274110', 'a1b2e016', '2026-05-01 10:16:16');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (17, 1, 17, 'user', 'Question 6 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 6 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'd358bd9443e0cb77beaf6ce1891b0fb7d498248713af6607326af13a7abd58a5', 'a1b2e017', '2026-05-01 10:17:17');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (18, 1, 18, 'assistant', 'I look at buoy 6.', 56, '7531f450f9da713adad3cacfa4c9aabc851b395f8b27b18bce8e72693ab196c4', 'a1b2e018', '2026-05-01 10:18:18');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (19, 1, 19, 'tool', 'buoy 6 blinks every 8 seconds', 14, 'fd51f79d8f5dfb9946405a242117b8687972e6a0196112aea52619bdfc4e22fb', 'a1b2e019', '2026-05-01 10:19:19');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (20, 1, 20, 'assistant', 'Buoy 6 blinks every 8 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, 'd18b2d094f335259671dd40325fdc19f1122ed9eed82b2a405c6ee06838abd6d', 'a1b2e020', '2026-05-01 10:20:20');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (21, 1, 21, 'user', 'Question 7 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 7 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, '2750109c5408942fc6f81ff9003d53783d053c85d416013feb0e2b2f11976189', 'a1b2e021', '2026-05-01 10:21:21');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (22, 1, 22, 'assistant', 'Buoy 7 blinks every 9 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '036c64459bd395bc31f7ed60c3838ba2697acf686894cdf2dc170f4b58fd9e1c', 'a1b2e022', '2026-05-01 10:22:22');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (23, 1, 23, 'user', 'Question 8 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 8 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, '064b380f6c98ed6daf243ae173b305c0c59e74b6b48af3dd8f7328ce13fff80e', 'a1b2e023', '2026-05-01 10:23:23');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (24, 1, 24, 'assistant', 'Buoy 8 blinks every 10 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 38, '534fdad3920a82cb45b3a0d55a47a4748496d57742d041a67594dbb924ee5325', 'a1b2e024', '2026-05-01 10:24:24');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (25, 1, 25, 'user', 'Question 9 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 9 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'f4bb45ec183dca018b48a22e97053d62da2d1548d061e7546a722e22edf4a459', 'a1b2e025', '2026-05-01 10:25:25');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (26, 1, 26, 'assistant', 'I look at buoy 9.', 56, '937c58bb643ba40f62bc38c02e768a04b9beecde430d969097fa7020e5256e02', 'a1b2e026', '2026-05-01 10:26:26');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (27, 1, 27, 'tool', 'buoy 9 blinks every 11 seconds', 15, '3df937523c284f70f421763dd192934468e57384089c41fd24d9689650304fe2', 'a1b2e027', '2026-05-01 10:27:27');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (28, 1, 28, 'assistant', 'Buoy 9 blinks every 11 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 38, '7901ce693887120adfc96b43294e1d4de3d610f0a834960c1b92aa9fe534b2e3', 'a1b2e028', '2026-05-01 10:28:28');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (29, 1, 29, 'user', 'Question 10 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 10 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'fb89cedb484a7d641381be7a2b41d38321281575067c930045ec95a5a6cdf1a1', 'a1b2e029', '2026-05-01 10:29:29');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (30, 1, 30, 'assistant', 'Buoy 10 blinks every 12 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 38, '871fb2f7ff255a484d8944d55c3295951c07e36423b2977be5b99c62c7e2ca6f', 'a1b2e030', '2026-05-01 10:30:30');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (31, 1, 31, 'user', 'Question 11 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 11 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'e09dda4940be0e19cb39eade31409a7772f2301403014310c75467e43e371b9c', 'a1b2e031', '2026-05-01 10:31:31');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (32, 1, 32, 'assistant', 'Buoy 11 blinks every 13 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 38, '72e5c865346204d6ae37b35dc3a0edc43716e5834af8f26950e9aa27c48382e3', 'a1b2e032', '2026-05-01 10:32:32');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (33, 1, 33, 'user', 'Question 12 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 12 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'fa7c6fbda3d333ef3c8f35dce723f596931af5c3675e0b0ee1636c595a362c1b', 'a1b2e033', '2026-05-01 10:33:33');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (34, 1, 34, 'assistant', 'I look at buoy 12.', 58, 'e25026515d8fa1113298704292d2852c2209ceb13b7c65dc742d4f5a280ce159', 'a1b2e034', '2026-05-01 10:34:34');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (35, 1, 35, 'tool', 'buoy 12 blinks every 14 seconds', 15, '600a940ca2108f52d2c35f849315ee70b58d94e5625a471c775c8c3e370210ae', 'a1b2e035', '2026-05-01 10:35:35');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (36, 1, 36, 'assistant', 'Buoy 12 blinks every 14 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 38, 'ed35ff704b1a376c47682b842bb5a448009c87bceb594d120b522cfda24e838e', 'a1b2e036', '2026-05-01 10:36:36');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (37, 1, 37, 'user', 'Question 13 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 13 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, '432d89954b6d2088f204011fdd474bcd67ca6ae1b527e895f8ead642a344cec0', 'a1b2e037', '2026-05-01 10:37:37');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (38, 1, 38, 'assistant', 'Buoy 13 blinks every 15 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 38, 'ba178a4467d8d97db558a41caaabf2b10deb4ce5c808ed4e5a17de6a3ccbe766', 'a1b2e038', '2026-05-01 10:38:38');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (39, 2, 1, 'user', 'Question 0 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 0 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'fcc7c6e31006e0a1cad6e211e03e7442341e113bef5c773fe7ee5d2273d369f4', 'b2c3e001', '2026-05-01 10:01:01');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (40, 2, 2, 'assistant', 'I look at buoy 0.', 56, 'f6a5325f2668dceff668d74c6fd6bd03c175526a5f970c033efcc3b1b9d11ca4', 'b2c3e002', '2026-05-01 10:02:02');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (41, 2, 3, 'tool', 'buoy 0 blinks every 2 seconds', 14, 'c33213b6e899a63fd28a1a5c0ad905d73ed38b927c209a786ad4b30e3d73c3eb', 'b2c3e003', '2026-05-01 10:03:03');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (42, 2, 4, 'assistant', 'Buoy 0 blinks every 2 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '0ebca71ea7f0a44d0cae4c4f4c066f1b95b6b2c69e8c046975c142166b5b0361', 'b2c3e004', '2026-05-01 10:04:04');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (43, 2, 5, 'user', 'Question 1 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 1 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, 'f2de0e6df4cf106f497450676b2abebb7608aeef373c01206caa593bd144bff3', 'b2c3e005', '2026-05-01 10:05:05');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (44, 2, 6, 'assistant', 'Buoy 1 blinks every 3 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '3eeec7ad5851e40c0e3a73c86a695287ac0426cc0460d4a5c84e20adfd481333', 'b2c3e006', '2026-05-01 10:06:06');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (45, 2, 7, 'user', 'Question 2 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 2 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', 40, '87f37419119e99ae0ba1242cfbca0f4ce7cfef66c03a1e0e6c2444c789b7dcf3', 'b2c3e007', '2026-05-01 10:07:07');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, transcript_entry_id, created_at) VALUES (46, 2, 8, 'assistant', 'Buoy 2 blinks every 4 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', 37, '46e99c752295c861b65f61de811de9f54281cbf81a4b1147bd7822e659c6f486', 'b2c3e008', '2026-05-01 10:08:08');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, created_at) VALUES (47, 3, 1, 'user', 'runtime 0, token=@TOKEN@ <private>secret 0</private>', 22, '21498a8046e4227cfb841b2a6e3751d80bcf0360100db8310e9e9bf9edde59a5', '2026-11-18 18:29:14');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, created_at) VALUES (48, 3, 2, 'assistant', 'runtime 1, token=@TOKEN@ <private>secret 1</private>', 28, 'a64aba5fb6aa535c0c60b83245bf17fb1fb2a34882e3a87409cbf243ff91ffa1', '2026-11-18 18:29:14');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, created_at) VALUES (49, 3, 3, 'user', 'runtime 2, token=@TOKEN@ <private>secret 2</private>', 22, 'f443f0e7cf61e12366e3f89ea26d40a4893425d26ecd78a0c0bc6acb05d61dbe', '2026-11-18 18:29:14');
INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, created_at) VALUES (50, 3, 4, 'assistant', 'runtime 3, token=@TOKEN@ <private>secret 3</private>', 28, '4462d98d9abed36054be184e8b3f77c6a96744611bfc10de367916e3f9bbea95', '2026-11-18 18:29:14');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('5735deb4-7689-46a7-ab0b-bca91f216502', 1, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 0 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 0 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 0 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 0 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('63bf28a0-a179-4db9-9672-5dbb2f6143a4', 2, 'a1b2c3d4-0000-4000-8000-000000000001', 'reasoning', 0, 'I should look at buoy 0.', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"thinking","raw":{"type":"thinking","thinking":"I should look at buoy 0.","thinkingSignature":"sig0"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('ce268cce-d69c-42ed-bda2-5683d8e55727', 2, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 1, 'I look at buoy 0.', '{"originalRole":"assistant","rawType":"text","raw":{"type":"text","text":"I look at buoy 0."}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, tool_call_id, tool_name, tool_input, metadata) VALUES ('9adb0981-8280-4bd0-92ba-3ae2842ca533', 2, 'a1b2c3d4-0000-4000-8000-000000000001', 'tool', 2, 'call_a1b_0', 'look', '{"buoy":0,"deep":{"käse":"ü"}}', '{"originalRole":"assistant","rawType":"toolCall","raw":{"type":"toolCall","id":"call_a1b_0","name":"look","arguments":{"buoy":0,"deep":{"käse":"ü"}}}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_call_id, tool_name, metadata) VALUES ('1acd30c0-63e4-4b49-ac93-50d3fc2dbc48', 3, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'buoy 0 blinks every 2 seconds', 'call_a1b_0', 'look', '{"originalRole":"toolResult","toolCallId":"call_a1b_0","toolName":"look","isError":false,"rawType":"text","raw":{"type":"text","text":"buoy 0 blinks every 2 seconds"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('99d47e51-9583-491e-a9ba-8920b6a29c8a', 4, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 0 blinks every 2 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 0 blinks every 2 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('f169cb1c-5bb6-4c21-9983-170d84bbec07', 5, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 1 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 1 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 1 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 1 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('3f04cf1e-ffae-42e4-8039-6041ed75b919', 6, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 1 blinks every 3 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 1 blinks every 3 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('f6a95236-3344-412b-ac3f-505b4c34de9c', 7, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 2 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 2 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 2 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 2 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('e2599ece-b86e-48eb-8cdc-92c707116d5c', 8, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 2 blinks every 4 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 2 blinks every 4 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('0d71e155-96c1-44c3-8b65-fe079cb4da6f', 9, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 3 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 3 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 3 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 3 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('ed540918-4c02-48a1-91c3-3b34cd2bbea9', 10, 'a1b2c3d4-0000-4000-8000-000000000001', 'reasoning', 0, 'I should look at buoy 3.', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"thinking","raw":{"type":"thinking","thinking":"I should look at buoy 3.","thinkingSignature":"sig3"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('26ea0096-7d72-4b36-bb41-8c9f4c88d084', 10, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 1, 'I look at buoy 3.', '{"originalRole":"assistant","rawType":"text","raw":{"type":"text","text":"I look at buoy 3."}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, tool_call_id, tool_name, tool_input, metadata) VALUES ('b86d0736-1b52-42d6-8b37-86e10faefd16', 10, 'a1b2c3d4-0000-4000-8000-000000000001', 'tool', 2, 'call_a1b_3', 'look', '{"buoy":3,"deep":{"käse":"ü"}}', '{"originalRole":"assistant","rawType":"toolCall","raw":{"type":"toolCall","id":"call_a1b_3","name":"look","arguments":{"buoy":3,"deep":{"käse":"ü"}}}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_call_id, tool_name, metadata) VALUES ('f6e1976e-7926-4afa-ae38-826dbadf513c', 11, 'a1b2c3d4-0000-4000-8000-000000000001', 'tool', 0, '[LCM Tool Output: file_3788fa85f7834c44 | tool=look | 6,304 bytes]

Exploration Summary:
Text exploration summary (look.txt):
Characters: 6,304.
Words: 1,261.
Lines: 181.
Detected section headers: none detected.
Opening excerpt: LOG line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line o.
Closing excerpt: ers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345.

Call lcm_describe(id="<file_id above>", expandFile=true) to fetch the full output content from disk.', 'call_a1b_3', 'look', '{"originalRole":"toolResult","toolCallId":"call_a1b_3","toolName":"look","isError":false,"externalizedFileId":"file_3788fa85f7834c44","originalByteSize":6304,"toolOutputExternalized":true,"externalizationReason":"large_tool_result","rawType":"tool_result","raw":{"type":"tool_result","text":"[LCM Tool Output: file_3788fa85f7834c44 | tool=look | 6,304 bytes]\n\nExploration Summary:\nText exploration summary (look.txt):\nCharacters: 6,304.\nWords: 1,261.\nLines: 181.\nDetected section headers: none detected.\nOpening excerpt: LOG line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line o.\nClosing excerpt: ers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345.\n\nCall lcm_describe(id=\"<file_id above>\", expandFile=true) to fetch the full output content from disk.","rawType":"tool_result","externalizedFileId":"file_3788fa85f7834c44","originalByteSize":6304,"toolOutputExternalized":true,"externalizationReason":"large_tool_result","tool_use_id":"call_a1b_3","isError":false,"name":"look"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('298d965b-1175-4bfd-8d4a-10a4e1c787db', 12, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 3 blinks every 5 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 3 blinks every 5 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('88fdfcf2-b2f9-4e1b-a932-c170839cabb4', 13, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 4 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 4 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 4 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 4 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('12781e1d-c6d5-4c8c-8549-5d9a16f953f9', 14, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 4 blinks every 6 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 4 blinks every 6 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('ccdcbc46-3898-4c6a-b80c-bc1beb03c862', 15, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 5 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 5 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 5 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 5 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('af335a36-feac-49ea-b29d-6a9cc3757839', 16, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 5 blinks every 7 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 5 blinks every 7 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('fa9b7085-9e44-4aeb-94e7-7c968619e8b2', 17, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 6 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 6 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 6 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 6 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('f33b3ffd-a949-4dc8-b0aa-ea1000040cbe', 18, 'a1b2c3d4-0000-4000-8000-000000000001', 'reasoning', 0, 'I should look at buoy 6.', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"thinking","raw":{"type":"thinking","thinking":"I should look at buoy 6.","thinkingSignature":"sig6"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('806c5e0f-5afb-4347-9dc4-3493e3b3d4dc', 18, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 1, 'I look at buoy 6.', '{"originalRole":"assistant","rawType":"text","raw":{"type":"text","text":"I look at buoy 6."}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, tool_call_id, tool_name, tool_input, metadata) VALUES ('db914db4-3682-4081-abab-0cc46e0b58a4', 18, 'a1b2c3d4-0000-4000-8000-000000000001', 'tool', 2, 'call_a1b_6', 'look', '{"buoy":6,"deep":{"käse":"ü"}}', '{"originalRole":"assistant","rawType":"toolCall","raw":{"type":"toolCall","id":"call_a1b_6","name":"look","arguments":{"buoy":6,"deep":{"käse":"ü"}}}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_call_id, tool_name, metadata) VALUES ('697ad305-e8e5-49e6-bd24-b5195a0eb617', 19, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'buoy 6 blinks every 8 seconds', 'call_a1b_6', 'look', '{"originalRole":"toolResult","toolCallId":"call_a1b_6","toolName":"look","isError":false,"rawType":"text","raw":{"type":"text","text":"buoy 6 blinks every 8 seconds"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('e4cc91b9-f95b-44ec-b492-6efa85cce6ce', 20, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 6 blinks every 8 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 6 blinks every 8 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('15929997-9b56-40c2-a6c6-5594388fb09d', 21, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 7 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 7 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 7 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 7 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('bd62931d-0f2b-4aed-9d37-1fe7b92acf5c', 22, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 7 blinks every 9 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 7 blinks every 9 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('d22aeabe-55af-4249-ad4f-ed21229633f7', 23, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 8 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 8 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 8 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 8 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('5815926d-7f5b-4685-b905-89e883d816e4', 24, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 8 blinks every 10 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 8 blinks every 10 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('5f34afeb-71d6-4248-9c06-f59e31738d19', 25, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 9 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 9 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 9 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 9 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('4c3b26be-8c79-46ec-8b20-d7d1836cff8f', 26, 'a1b2c3d4-0000-4000-8000-000000000001', 'reasoning', 0, 'I should look at buoy 9.', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"thinking","raw":{"type":"thinking","thinking":"I should look at buoy 9.","thinkingSignature":"sig9"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('622b8a52-81a4-4d43-9df5-0172a61398bd', 26, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 1, 'I look at buoy 9.', '{"originalRole":"assistant","rawType":"text","raw":{"type":"text","text":"I look at buoy 9."}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, tool_call_id, tool_name, tool_input, metadata) VALUES ('e498c4f6-e7a8-4698-b41a-726db6a24c81', 26, 'a1b2c3d4-0000-4000-8000-000000000001', 'tool', 2, 'call_a1b_9', 'look', '{"buoy":9,"deep":{"käse":"ü"}}', '{"originalRole":"assistant","rawType":"toolCall","raw":{"type":"toolCall","id":"call_a1b_9","name":"look","arguments":{"buoy":9,"deep":{"käse":"ü"}}}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_call_id, tool_name, metadata) VALUES ('a1086c33-eb39-42f8-b523-9932f73a775f', 27, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'buoy 9 blinks every 11 seconds', 'call_a1b_9', 'look', '{"originalRole":"toolResult","toolCallId":"call_a1b_9","toolName":"look","isError":false,"rawType":"text","raw":{"type":"text","text":"buoy 9 blinks every 11 seconds"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('51eafcc8-6377-4df8-9802-482ca87ee0fa', 28, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 9 blinks every 11 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 9 blinks every 11 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('7116a908-527a-49e3-aafa-aec7914a7dba', 29, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 10 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 10 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 10 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 10 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('8c2563fa-5664-4fe0-8e18-cc053f886f36', 30, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 10 blinks every 12 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 10 blinks every 12 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('25adf5aa-4e99-45c0-bb8d-0c1fc09b1e8c', 31, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 11 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 11 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 11 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 11 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('565bcec8-8559-4d6f-99b1-68d972759e94', 32, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 11 blinks every 13 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 11 blinks every 13 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('aea814e0-1119-4766-8ef4-bee04e3610ef', 33, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 12 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 12 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 12 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 12 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('7d420a95-0c83-4b2d-b566-71ee9267f128', 34, 'a1b2c3d4-0000-4000-8000-000000000001', 'reasoning', 0, 'I should look at buoy 12.', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"thinking","raw":{"type":"thinking","thinking":"I should look at buoy 12.","thinkingSignature":"sig12"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('8636123e-1563-46fa-ba72-24eb0a490e92', 34, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 1, 'I look at buoy 12.', '{"originalRole":"assistant","rawType":"text","raw":{"type":"text","text":"I look at buoy 12."}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, tool_call_id, tool_name, tool_input, metadata) VALUES ('57a7ed3b-23b5-4ce6-ac21-e10407e4da6e', 34, 'a1b2c3d4-0000-4000-8000-000000000001', 'tool', 2, 'call_a1b_12', 'look', '{"buoy":12,"deep":{"käse":"ü"}}', '{"originalRole":"assistant","rawType":"toolCall","raw":{"type":"toolCall","id":"call_a1b_12","name":"look","arguments":{"buoy":12,"deep":{"käse":"ü"}}}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_call_id, tool_name, metadata) VALUES ('df78255a-c514-46a7-bcf8-c287a3d220f5', 35, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'buoy 12 blinks every 14 seconds', 'call_a1b_12', 'look', '{"originalRole":"toolResult","toolCallId":"call_a1b_12","toolName":"look","isError":false,"rawType":"text","raw":{"type":"text","text":"buoy 12 blinks every 14 seconds"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('6f8d5d50-1c21-4db4-bc3f-6ef62e1cd90e', 36, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 12 blinks every 14 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 12 blinks every 14 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('6e589ac8-05cf-4ef9-8e4b-e6ff69a7968c', 37, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Question 13 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 13 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 13 of a1b2c3d4-0000-4000-8000-000000000001: what does buoy 13 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('2e451cf2-797f-418c-88be-adf410448e2d', 38, 'a1b2c3d4-0000-4000-8000-000000000001', 'text', 0, 'Buoy 13 blinks every 15 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 13 blinks every 15 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('d3eb3060-aee7-417a-8faa-27ed05749d67', 39, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 0, 'Question 0 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 0 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 0 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 0 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('7924b04a-632c-4c9c-89d1-a305af4be693', 40, 'b2c3d4e5-0000-4000-8000-000000000002', 'reasoning', 0, 'I should look at buoy 0.', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"thinking","raw":{"type":"thinking","thinking":"I should look at buoy 0.","thinkingSignature":"sig0"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('7935b4e4-178b-410e-a5ef-3969deb0c489', 40, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 1, 'I look at buoy 0.', '{"originalRole":"assistant","rawType":"text","raw":{"type":"text","text":"I look at buoy 0."}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, tool_call_id, tool_name, tool_input, metadata) VALUES ('d321e908-9eaf-49fa-a815-442b08f09b79', 40, 'b2c3d4e5-0000-4000-8000-000000000002', 'tool', 2, 'call_b2c_0', 'look', '{"buoy":0,"deep":{"käse":"ü"}}', '{"originalRole":"assistant","rawType":"toolCall","raw":{"type":"toolCall","id":"call_b2c_0","name":"look","arguments":{"buoy":0,"deep":{"käse":"ü"}}}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_call_id, tool_name, metadata) VALUES ('386da4b2-fe6c-4880-a2bb-0ce2b52150c3', 41, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 0, 'buoy 0 blinks every 2 seconds', 'call_b2c_0', 'look', '{"originalRole":"toolResult","toolCallId":"call_b2c_0","toolName":"look","isError":false,"rawType":"text","raw":{"type":"text","text":"buoy 0 blinks every 2 seconds"}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('b5cb67a3-1b3f-440d-8a98-0342707e1f94', 42, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 0, 'Buoy 0 blinks every 2 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 0 blinks every 2 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('b28f98b4-82ee-4d2a-a7a9-0b66d2584b7e', 43, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 0, 'Question 1 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 1 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 1 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 1 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('d8129816-7d19-4b1b-8a0b-88b5281225e1', 44, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 0, 'Buoy 1 blinks every 3 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 1 blinks every 3 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('7019796c-3b6e-4eb0-b309-66d574a8785c', 45, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 0, 'Question 2 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 2 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. ', '{"originalRole":"user","rawType":"text","raw":{"type":"text","text":"Question 2 of b2c3d4e5-0000-4000-8000-000000000002: what does buoy 2 say? The harbour is long and the fog is thick. The harbour is long and the fog is thick. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('baa52d73-868b-4fea-ba84-07dbeb07dc10', 46, 'b2c3d4e5-0000-4000-8000-000000000002', 'text', 0, 'Buoy 2 blinks every 4 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. ', '{"originalRole":"assistant","modelProvider":"anthropic","modelApi":"anthropic-messages","modelId":"claude-opus-4-5","rawType":"text","raw":{"type":"text","text":"Buoy 2 blinks every 4 seconds. It was painted by the keeper. It was painted by the keeper. It was painted by the keeper. "}}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('4a7229eb-37d1-437e-b55a-87e53184def0', 47, 'c3d4e5f6-0000-4000-8000-000000000003', 'text', 0, 'runtime 0, token=@TOKEN@ <private>secret 0</private>', '{"originalRole":"user"}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('6725c9ac-5c6b-4af9-80d0-eaa603ded5d3', 48, 'c3d4e5f6-0000-4000-8000-000000000003', 'text', 0, 'runtime 1, token=@TOKEN@ <private>secret 1</private>', '{"originalRole":"assistant"}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('f475fcf5-cc17-4c03-9ece-df93dfaf8a1e', 49, 'c3d4e5f6-0000-4000-8000-000000000003', 'text', 0, 'runtime 2, token=@TOKEN@ <private>secret 2</private>', '{"originalRole":"user"}');
INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES ('da3dee0b-2704-456c-92e8-b266c805f634', 50, 'c3d4e5f6-0000-4000-8000-000000000003', 'text', 0, 'runtime 3, token=@TOKEN@ <private>secret 3</private>', '{"originalRole":"assistant"}');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_60946aaac8c5daba', 1, 'leaf', 0, 'Summary 1: the crew moved the lighthouse lamp, port 4001 was agreed.
Expand for details about: lamp 1', 26, '2026-05-01T10:01:01.000Z', '2026-05-01T10:05:05.000Z', 0, 0, 187, '2026-11-18 18:29:13', '[]', 'claude-opus-4-5');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_d55fb62081ce6cef', 1, 'leaf', 0, 'Summary 2: the crew moved the lighthouse lamp, port 4002 was agreed.
Expand for details about: lamp 2', 26, '2026-05-01T10:06:06.000Z', '2026-05-01T10:09:09.000Z', 0, 0, 154, '2026-11-18 18:29:14', '[]', 'claude-opus-4-5');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_2d9dac48a83e6515', 1, 'leaf', 0, '[2026-05-01 10:10 UTC | assistant]
I look at buoy 3.
[Truncated from 13 tokens]', 20, '2026-05-01T10:10:10.000Z', '2026-05-01T10:10:10.000Z', 0, 0, 56, '2026-11-18 18:29:14', '[]', 'claude-opus-4-5');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_8b5f492cef7d663d', 1, 'leaf', 0, 'Summary 5: the crew moved the lighthouse lamp, port 4005 was agreed.
Expand for details about: lamp 5', 26, '2026-05-01T10:11:11.000Z', '2026-05-01T10:11:11.000Z', 0, 0, 348, '2026-11-18 18:29:14', '["file_3788fa85f7834c44"]', 'claude-opus-4-5');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_1b9f7c73cfe87fb9', 1, 'leaf', 0, 'Summary 6: the crew moved the lighthouse lamp, port 4006 was agreed.
Expand for details about: lamp 6', 26, '2026-05-01T10:12:12.000Z', '2026-05-01T10:16:16.000Z', 0, 0, 191, '2026-11-18 18:29:14', '[]', 'claude-opus-4-5');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_88de62e188638e81', 1, 'leaf', 0, 'Summary 7: the crew moved the lighthouse lamp, port 4007 was agreed.
Expand for details about: lamp 7', 26, '2026-05-01T10:17:17.000Z', '2026-05-01T10:21:21.000Z', 0, 0, 187, '2026-11-18 18:29:14', '[]', 'claude-opus-4-5');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_6b67eec93aaf8e36', 1, 'leaf', 0, 'Summary 8: the crew moved the lighthouse lamp, port 4008 was agreed.
Expand for details about: lamp 8', 26, '2026-05-01T10:22:22.000Z', '2026-05-01T10:24:24.000Z', 0, 0, 115, '2026-11-18 18:29:14', '[]', 'claude-opus-4-5');
INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, descendant_count, descendant_token_count, source_message_token_count, created_at, file_ids, model) VALUES ('sum_845a0274f6142aea', 1, 'condensed', 1, 'Summary 9: the crew moved the lighthouse lamp, port 4009 was agreed.
Expand for details about: lamp 9', 26, '2026-05-01T10:01:01.000Z', '2026-05-01T10:24:24.000Z', 7, 176, 1238, '2026-11-18 18:29:14', '["file_3788fa85f7834c44"]', 'claude-opus-4-5');
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_60946aaac8c5daba', 1, 0);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_60946aaac8c5daba', 2, 1);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_60946aaac8c5daba', 3, 2);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_60946aaac8c5daba', 4, 3);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_60946aaac8c5daba', 5, 4);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_d55fb62081ce6cef', 6, 0);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_d55fb62081ce6cef', 7, 1);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_d55fb62081ce6cef', 8, 2);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_d55fb62081ce6cef', 9, 3);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_2d9dac48a83e6515', 10, 0);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_8b5f492cef7d663d', 11, 0);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_1b9f7c73cfe87fb9', 12, 0);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_1b9f7c73cfe87fb9', 13, 1);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_1b9f7c73cfe87fb9', 14, 2);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_1b9f7c73cfe87fb9', 15, 3);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_1b9f7c73cfe87fb9', 16, 4);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_88de62e188638e81', 17, 0);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_88de62e188638e81', 18, 1);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_88de62e188638e81', 19, 2);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_88de62e188638e81', 20, 3);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_88de62e188638e81', 21, 4);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_6b67eec93aaf8e36', 22, 0);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_6b67eec93aaf8e36', 23, 1);
INSERT INTO summary_messages (summary_id, message_id, ordinal) VALUES ('sum_6b67eec93aaf8e36', 24, 2);
INSERT INTO summary_parents (summary_id, parent_summary_id, ordinal) VALUES ('sum_845a0274f6142aea', 'sum_60946aaac8c5daba', 0);
INSERT INTO summary_parents (summary_id, parent_summary_id, ordinal) VALUES ('sum_845a0274f6142aea', 'sum_d55fb62081ce6cef', 1);
INSERT INTO summary_parents (summary_id, parent_summary_id, ordinal) VALUES ('sum_845a0274f6142aea', 'sum_2d9dac48a83e6515', 2);
INSERT INTO summary_parents (summary_id, parent_summary_id, ordinal) VALUES ('sum_845a0274f6142aea', 'sum_8b5f492cef7d663d', 3);
INSERT INTO summary_parents (summary_id, parent_summary_id, ordinal) VALUES ('sum_845a0274f6142aea', 'sum_1b9f7c73cfe87fb9', 4);
INSERT INTO summary_parents (summary_id, parent_summary_id, ordinal) VALUES ('sum_845a0274f6142aea', 'sum_88de62e188638e81', 5);
INSERT INTO summary_parents (summary_id, parent_summary_id, ordinal) VALUES ('sum_845a0274f6142aea', 'sum_6b67eec93aaf8e36', 6);
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 1, 'message', 25, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 2, 'message', 26, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 3, 'message', 27, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 4, 'message', 28, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, summary_id, created_at) VALUES (1, 0, 'summary', 'sum_845a0274f6142aea', '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 5, 'message', 29, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 6, 'message', 30, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 7, 'message', 31, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 8, 'message', 32, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 9, 'message', 33, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 10, 'message', 34, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 11, 'message', 35, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 12, 'message', 36, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 13, 'message', 37, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (1, 14, 'message', 38, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 0, 'message', 39, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 1, 'message', 40, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 2, 'message', 41, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 3, 'message', 42, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 4, 'message', 43, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 5, 'message', 44, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 6, 'message', 45, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (2, 7, 'message', 46, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (3, 0, 'message', 47, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (3, 1, 'message', 48, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (3, 2, 'message', 49, '2026-11-18 18:29:14');
INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) VALUES (3, 3, 'message', 50, '2026-11-18 18:29:14');
INSERT INTO large_files (file_id, conversation_id, file_name, mime_type, byte_size, line_count, storage_uri, exploration_summary, created_at) VALUES ('file_3788fa85f7834c44', 1, 'look.txt', 'text/plain', 6304, 181, '/home/ada/.openclaw/lcm-files/1/file_3788fa85f7834c44.txt', 'Text exploration summary (look.txt):
Characters: 6,304.
Words: 1,261.
Lines: 181.
Detected section headers: none detected.
Opening excerpt: LOG line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line o.
Closing excerpt: ers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345 line of the log with numbers 12345.', '2026-11-18 18:29:13');
INSERT INTO lcm_migration_state (step_name, algorithm_version, completed_at) VALUES ('repairOpenClawMetadataIdentityState', 2, '2026-11-18 18:29:13');
INSERT INTO lcm_migration_state (step_name, algorithm_version, completed_at) VALUES ('backfillSummaryDepths', 1, '2026-11-18 18:29:13');
INSERT INTO lcm_migration_state (step_name, algorithm_version, completed_at) VALUES ('backfillSummaryMetadata', 1, '2026-11-18 18:29:13');
INSERT INTO lcm_migration_state (step_name, algorithm_version, completed_at) VALUES ('backfillToolCallColumns', 1, '2026-11-18 18:29:13');
