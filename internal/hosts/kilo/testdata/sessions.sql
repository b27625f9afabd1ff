CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer
        );
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
INSERT INTO session VALUES ('ses_e14a1ccc4ffel71Srrkv6AOn66', 'global', NULL, NULL, 'quick-river', '/home/user/project', 'home/user/project', 'New session - 2026-11-17T21:16:21.691Z', '7.7.9', NULL, 0, 0, 0, NULL, NULL, 0.0, 14173, 8, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"suggest","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'code', '{"id":"scripted","providerID":"x","variant":"default"}', 1794950181691, 1794950194227, NULL, NULL);
INSERT INTO session VALUES ('ses_e14a15e45ffeEldHHp6cQWaa5i', 'global', NULL, NULL, 'swift-falcon', '/home/user/project', 'home/user/project', 'What the notes say', '7.7.9', NULL, 0, 0, 0, NULL, NULL, 0.0, 28416, 35, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"suggest","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'code', '{"id":"scripted","providerID":"x","variant":"default"}', 1794950209979, 1794950215356, NULL, NULL);
INSERT INTO session VALUES ('ses_e14a136d6ffe4pxssLPGXqSBNO', 'global', NULL, NULL, 'calm-sailor', '/home/user/project', 'home/user/project', 'New session - 2026-11-17T21:17:00.073Z', '7.7.9', NULL, 0, 0, 0, NULL, NULL, 0.0, 28458, 38, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"suggest","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'code', '{"id":"scripted","providerID":"x","variant":"default"}', 1794950220073, 1794950227326, NULL, NULL);
INSERT INTO session VALUES ('ses_e14a123d9ffeVyqj5BeZpRSBZp', 'global', NULL, 'ses_e14a136d6ffe4pxssLPGXqSBNO', 'eager-falcon', '/home/user/project', 'home/user/project', 'Check the build (@general subagent)', '7.7.9', NULL, 0, 0, 0, NULL, NULL, 0.0, 12465, 8, 0, 0, 0, NULL, '[{"permission":"suggest","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"repo_clone","action":"deny","pattern":"*"},{"permission":"question","action":"deny","pattern":"*"},{"permission":"task","action":"deny","pattern":"*"}]', 'general', '{"id":"scripted","providerID":"x","variant":"default"}', 1794950224934, 1794950225947, NULL, NULL);
INSERT INTO session VALUES ('ses_e14a0dc8dffelfxNLiiX6rICsG', 'global', NULL, NULL, 'jolly-engine', '/home/user/project', 'home/user/project', 'What the notes say', '7.7.9', NULL, 0, 0, 0, NULL, NULL, 0.0, 28410, 18, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"suggest","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'code', '{"id":"scripted","providerID":"x","variant":"default"}', 1794950243187, 1794950255127, NULL, NULL);
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
        );
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `recall_message_role_idx` ON `message` (`id`,json_extract("data", '$.role'),coalesce(json_extract("data", '$.parentID'), ''));
INSERT INTO message VALUES ('msg_1eb5e54e6001RNULbJwupSGd2Q', 'ses_e14a1ccc4ffel71Srrkv6AOn66', 1794950190310, 1794950194234, '{"role":"user","time":{"created":1794950190310},"agent":"code","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1eb5e5df6001I0vEDLSXKDvAzm', 'ses_e14a1ccc4ffel71Srrkv6AOn66', 1794950192630, 1794950194148, '{"parentID":"msg_1eb5e54e6001RNULbJwupSGd2Q","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":14181,"input":14173,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950192630,"completed":1794950194144},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1eb5ead30001uyQxOsRE9hNYBS', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950212912, 1794950215365, '{"role":"user","time":{"created":1794950212912},"agent":"code","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1eb5eb1b5001mzNNu3erKMHJsb', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950214069, 1794950214946, '{"parentID":"msg_1eb5ead30001uyQxOsRE9hNYBS","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":14204,"input":14177,"output":27,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950214069,"completed":1794950214945},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1eb5eb52e001tFeLrazmK6AkVt', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950214958, 1794950215167, '{"parentID":"msg_1eb5ead30001uyQxOsRE9hNYBS","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":14247,"input":14239,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950214958,"completed":1794950215166},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1eb5ed51f001lDPcl4qAhWwsIp', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950223135, 1794950227350, '{"role":"user","time":{"created":1794950223135},"agent":"code","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1eb5eda0b001n0v0M2Dy0GHeLY', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950224395, 1794950226150, '{"parentID":"msg_1eb5ed51f001lDPcl4qAhWwsIp","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":14204,"input":14176,"output":28,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950224395,"completed":1794950226148},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1eb5edc5c0010ZEzjz4GCEbryK', 'ses_e14a123d9ffeVyqj5BeZpRSBZp', 1794950225004, 1794950225992, '{"role":"user","time":{"created":1794950225004},"tools":{"question":false,"task":false},"agent":"general","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1eb5edd15001wcFzVCge9yIq0M', 'ses_e14a123d9ffeVyqj5BeZpRSBZp', 1794950225173, 1794950225802, '{"parentID":"msg_1eb5edc5c0010ZEzjz4GCEbryK","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":12473,"input":12465,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950225173,"completed":1794950225798},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1eb5ee115001ARUHocECv4YXE4', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950226197, 1794950227105, '{"parentID":"msg_1eb5ed51f001lDPcl4qAhWwsIp","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":14292,"input":14282,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950226197,"completed":1794950227101},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1eb5f423e001P53DyeEsKvuVGX', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950251070, 1794950255137, '{"role":"user","time":{"created":1794950251070},"agent":"code","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1eb5f4b69001zaoI4gru1V1laF', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950253417, 1794950254147, '{"parentID":"msg_1eb5f423e001P53DyeEsKvuVGX","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":14189,"input":14176,"output":13,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950253417,"completed":1794950254145},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1eb5f4e6b001FDioaS1074XUjv', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950254187, 1794950254816, '{"parentID":"msg_1eb5f423e001P53DyeEsKvuVGX","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":14239,"input":14234,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794950254187,"completed":1794950254811},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
        );
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
CREATE INDEX `part_session_step_finish_idx` ON `part` (`session_id`) WHERE json_valid("part"."data") AND json_extract("part"."data", '$.type') = 'step-finish';
CREATE INDEX `recall_part_search_idx` ON `part` (`session_id`,`id`,`message_id`,json_extract("data", '$.type'),CASE WHEN json_extract("data", '$.type') = 'text' THEN coalesce(json_extract("data", '$.text'), '') WHEN json_extract("data", '$.type') = 'file' THEN trim(coalesce(json_extract("data", '$.filename'), '') || ' ' || CASE WHEN coalesce(json_extract("data", '$.url'), '') NOT LIKE 'data:%' THEN coalesce(json_extract("data", '$.url'), '') ELSE '' END || ' ' || coalesce(json_extract("data", '$.source.path'), '') || ' ' || coalesce(json_extract("data", '$.source.name'), '') || ' ' || CASE WHEN coalesce(json_extract("data", '$.source.uri'), '') NOT LIKE 'data:%' THEN coalesce(json_extract("data", '$.source.uri'), '') ELSE '' END || ' ' || coalesce(json_extract("data", '$.source.clientName'), '')) ELSE coalesce(json_extract("data", '$.state.error'), '') END) WHERE json_valid("part"."data") AND ((json_extract("part"."data", '$.type') = 'text' AND coalesce(json_extract("part"."data", '$.synthetic'), 0) = 0 AND coalesce(json_extract("part"."data", '$.ignored'), 0) = 0) OR json_extract("part"."data", '$.type') = 'file' OR (json_extract("part"."data", '$.type') = 'tool' AND json_extract("part"."data", '$.state.status') = 'error'));
INSERT INTO part VALUES ('prt_1eb5e555f001oBuUO1K7brpW6q', 'msg_1eb5e54e6001RNULbJwupSGd2Q', 'ses_e14a1ccc4ffel71Srrkv6AOn66', 1794950190445, 1794950190447, '{"type":"text","text":"\"Hello. play:hello\""}');
INSERT INTO part VALUES ('prt_1eb5e6337001VfGE8ctkZdKuTr', 'msg_1eb5e5df6001I0vEDLSXKDvAzm', 'ses_e14a1ccc4ffel71Srrkv6AOn66', 1794950193975, 1794950193978, '{"type":"step-start","time":{"start":1794950193846}}');
INSERT INTO part VALUES ('prt_1eb5e6344001nGVA7dYRwFMpth', 'msg_1eb5e5df6001I0vEDLSXKDvAzm', 'ses_e14a1ccc4ffel71Srrkv6AOn66', 1794950193989, 1794950194006, '{"type":"text","text":"Hello. The build is green.","time":{"start":1794950193989,"end":1794950194002}}');
INSERT INTO part VALUES ('prt_1eb5e6381001yI55zLx9gEmUGQ', 'msg_1eb5e5df6001I0vEDLSXKDvAzm', 'ses_e14a1ccc4ffel71Srrkv6AOn66', 1794950194049, 1794950194053, '{"reason":"stop","type":"step-finish","time":{"start":1794950193846,"end":1794950194046,"elapsed":200},"metrics":{"generation":40,"source":"computed"},"tokens":{"total":14181,"input":14173,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1eb5ead90001BrhmYvG1FW7GRl', 'msg_1eb5ead30001uyQxOsRE9hNYBS', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950213014, 1794950213017, '{"type":"text","text":"\"What do the notes say? play:look\""}');
INSERT INTO part VALUES ('prt_1eb5eb3d4001dCpUFAD368y7wP', 'msg_1eb5eb1b5001mzNNu3erKMHJsb', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950214612, 1794950214617, '{"type":"step-start","time":{"start":1794950214542}}');
INSERT INTO part VALUES ('prt_1eb5eb3de001k1M5PPkAKdOkv6', 'msg_1eb5eb1b5001mzNNu3erKMHJsb', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950214622, 1794950214634, '{"type":"reasoning","text":"The notes will tell.","time":{"start":1794950214622,"end":1794950214632}}');
INSERT INTO part VALUES ('prt_1eb5eb3ee001pXf3iAutvK1grl', 'msg_1eb5eb1b5001mzNNu3erKMHJsb', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950214638, 1794950214673, '{"type":"text","text":"Looking.","time":{"start":1794950214638,"end":1794950214671}}');
INSERT INTO part VALUES ('prt_1eb5eb3f6001fw7p8ioW6n7x2R', 'msg_1eb5eb1b5001mzNNu3erKMHJsb', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950214646, 1794950214826, '{"type":"tool","tool":"bash","callID":"call_2_1","state":{"status":"completed","input":{"command":"cat notes.txt","description":"Reads a file"},"output":"needle-42\n","metadata":{"output":"needle-42\n","exit":0,"description":"Reads a file","truncated":false,"approval":{"source":"global","rule":{"permission":"bash","pattern":"*","action":"allow"}}},"title":"Reads a file","time":{"start":1794950214664,"end":1794950214824}}}');
INSERT INTO part VALUES ('prt_1eb5eb5030015sPrS1jM8pVnAI', 'msg_1eb5eb1b5001mzNNu3erKMHJsb', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950214915, 1794950214917, '{"reason":"tool-calls","type":"step-finish","time":{"start":1794950214542,"end":1794950214912,"elapsed":370},"metrics":{"generation":72.97297297297297,"source":"computed"},"tokens":{"total":14204,"input":14177,"output":27,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1eb5eb5c6001tvudcdo6RE0pRu', 'msg_1eb5eb52e001tFeLrazmK6AkVt', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950215110, 1794950215111, '{"type":"step-start","time":{"start":1794950215092}}');
INSERT INTO part VALUES ('prt_1eb5eb5c9001xpqzUTzVd5AC1O', 'msg_1eb5eb52e001tFeLrazmK6AkVt', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950215113, 1794950215117, '{"type":"text","text":"The note says needle-42.","time":{"start":1794950215113,"end":1794950215117}}');
INSERT INTO part VALUES ('prt_1eb5eb5f7001XoxEoXRE00IxVK', 'msg_1eb5eb52e001tFeLrazmK6AkVt', 'ses_e14a15e45ffeEldHHp6cQWaa5i', 1794950215159, 1794950215160, '{"reason":"stop","type":"step-finish","time":{"start":1794950215092,"end":1794950215157,"elapsed":64},"metrics":{"generation":125,"source":"computed"},"tokens":{"total":14247,"input":14239,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1eb5ed587001N3411selTD0BqX', 'msg_1eb5ed51f001lDPcl4qAhWwsIp', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950223245, 1794950223247, '{"type":"text","text":"\"Is the build green? play:delegate\""}');
INSERT INTO part VALUES ('prt_1eb5edc4a001dsH9WEi5XTMTX3', 'msg_1eb5eda0b001n0v0M2Dy0GHeLY', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950224971, 1794950224973, '{"type":"step-start","time":{"start":1794950224881}}');
INSERT INTO part VALUES ('prt_1eb5edc50001j8AsE2OZZicSm1', 'msg_1eb5eda0b001n0v0M2Dy0GHeLY', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950224976, 1794950225980, '{"type":"tool","tool":"task","callID":"call_2_1","state":{"status":"completed","input":{"description":"Check the build","prompt":"Is the build green? play:hello","subagent_type":"general"},"output":"<task id=\"ses_e14a123d9ffeVyqj5BeZpRSBZp\" state=\"completed\">\n<task_result>\nHello. The build is green.\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_e14a136d6ffe4pxssLPGXqSBNO","sessionId":"ses_e14a123d9ffeVyqj5BeZpRSBZp","model":{"modelID":"scripted","providerID":"x"},"truncated":false,"approval":{"source":"agent","agent":"code","rule":{"permission":"*","pattern":"*","action":"allow"}}},"title":"Check the build","time":{"start":1794950224984,"end":1794950225974}}}');
INSERT INTO part VALUES ('prt_1eb5edcd00012VMAKbxNRHi5y4', 'msg_1eb5edc5c0010ZEzjz4GCEbryK', 'ses_e14a123d9ffeVyqj5BeZpRSBZp', 1794950225113, 1794950225114, '{"type":"text","text":"Is the build green? play:hello"}');
INSERT INTO part VALUES ('prt_1eb5edea7001aLsbSufuDopyYI', 'msg_1eb5edd15001wcFzVCge9yIq0M', 'ses_e14a123d9ffeVyqj5BeZpRSBZp', 1794950225578, 1794950225581, '{"type":"step-start","time":{"start":1794950225494}}');
INSERT INTO part VALUES ('prt_1eb5edeb2001wG3rfAdZ1D9tG1', 'msg_1eb5edd15001wcFzVCge9yIq0M', 'ses_e14a123d9ffeVyqj5BeZpRSBZp', 1794950225587, 1794950225602, '{"type":"text","text":"Hello. The build is green.","time":{"start":1794950225586,"end":1794950225600}}');
INSERT INTO part VALUES ('prt_1eb5edf63001Zvhs0DuFrcZ36q', 'msg_1eb5edd15001wcFzVCge9yIq0M', 'ses_e14a123d9ffeVyqj5BeZpRSBZp', 1794950225764, 1794950225767, '{"reason":"stop","type":"step-finish","time":{"start":1794950225494,"end":1794950225758,"elapsed":263},"metrics":{"generation":30.418250950570343,"source":"computed"},"tokens":{"total":12473,"input":12465,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1eb5ee0cc0011a5aMr7XeqTbVN', 'msg_1eb5eda0b001n0v0M2Dy0GHeLY', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950226124, 1794950226127, '{"reason":"tool-calls","type":"step-finish","time":{"start":1794950224881,"end":1794950226117,"elapsed":1235},"metrics":{"generation":22.672064777327936,"source":"computed"},"tokens":{"total":14204,"input":14176,"output":28,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1eb5ee4000012RAxqq3CJTKaq4', 'msg_1eb5ee115001ARUHocECv4YXE4', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950226944, 1794950226946, '{"type":"step-start","time":{"start":1794950226896}}');
INSERT INTO part VALUES ('prt_1eb5ee406001iB4qt4dqHfgZeX', 'msg_1eb5ee115001ARUHocECv4YXE4', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950226951, 1794950227005, '{"type":"text","text":"The helper says that the build is green.","time":{"start":1794950226950,"end":1794950227002}}');
INSERT INTO part VALUES ('prt_1eb5ee47d00183v7FGzkm0Ekx6', 'msg_1eb5ee115001ARUHocECv4YXE4', 'ses_e14a136d6ffe4pxssLPGXqSBNO', 1794950227069, 1794950227072, '{"reason":"stop","type":"step-finish","time":{"start":1794950226896,"end":1794950227066,"elapsed":170},"metrics":{"generation":58.8235294117647,"source":"computed"},"tokens":{"total":14292,"input":14282,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1eb5f42b1001zhpdj4jD5ITQO1', 'msg_1eb5f423e001P53DyeEsKvuVGX', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950251209, 1794950251217, '{"type":"text","text":"\"What was the needle? play:remember\""}');
INSERT INTO part VALUES ('prt_1eb5f4db4001PinDCAYht3TxEf', 'msg_1eb5f4b69001zaoI4gru1V1laF', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950254004, 1794950254005, '{"type":"step-start","time":{"start":1794950253929}}');
INSERT INTO part VALUES ('prt_1eb5f4db9001Fd3RTFNEdAlwxZ', 'msg_1eb5f4b69001zaoI4gru1V1laF', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950254009, 1794950254033, '{"type":"tool","tool":"lcm_lcm_grep","callID":"call_2_1","state":{"status":"completed","input":{"pattern":"needle-42"},"output":"not in the record: needle\n0 matches in all conversations\n","metadata":{"truncated":false,"approval":{"source":"agent","agent":"code","rule":{"permission":"*","pattern":"*","action":"allow"}}},"title":"","time":{"start":1794950254014,"end":1794950254032}}}');
INSERT INTO part VALUES ('prt_1eb5f4e1f001Mc3ktCmizKqUqQ', 'msg_1eb5f4b69001zaoI4gru1V1laF', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950254111, 1794950254113, '{"reason":"tool-calls","type":"step-finish","time":{"start":1794950253929,"end":1794950254108,"elapsed":179},"metrics":{"generation":72.62569832402235,"source":"computed"},"tokens":{"total":14189,"input":14176,"output":13,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1eb5f503b0013PKKmot97k7CPG', 'msg_1eb5f4e6b001FDioaS1074XUjv', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950254651, 1794950254653, '{"type":"step-start","time":{"start":1794950254561}}');
INSERT INTO part VALUES ('prt_1eb5f503f001S6rU5quC5KIBU2', 'msg_1eb5f4e6b001FDioaS1074XUjv', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950254655, 1794950254666, '{"type":"text","text":"Nothing was found.","time":{"start":1794950254655,"end":1794950254665}}');
INSERT INTO part VALUES ('prt_1eb5f50cd001HQjmQpuAiboRqL', 'msg_1eb5f4e6b001FDioaS1074XUjv', 'ses_e14a0dc8dffelfxNLiiX6rICsG', 1794950254798, 1794950254799, '{"reason":"stop","type":"step-finish","time":{"start":1794950254561,"end":1794950254794,"elapsed":233},"metrics":{"generation":21.459227467811157,"source":"computed"},"tokens":{"total":14239,"input":14234,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
CREATE TABLE `session_message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `type` text NOT NULL,
          `seq` integer,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
        );
CREATE UNIQUE INDEX `session_message_session_seq_idx` ON `session_message` (`session_id`,`seq`);
CREATE INDEX `session_message_session_time_created_id_idx` ON `session_message` (`session_id`,`time_created`,`id`);
CREATE INDEX `session_message_session_type_seq_idx` ON `session_message` (`session_id`,`type`,`seq`);
CREATE INDEX `session_message_time_created_idx` ON `session_message` (`time_created`);
