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
INSERT INTO session VALUES ('ses_e2230a92bffelDaVvbXAcV0xE2', 'global', NULL, NULL, 'cosmic-engine', '/home/user/project', 'home/user/project', 'What the notes say', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 8656, 8, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"scripted","providerID":"x","variant":"default"}', 1794722715349, 1794722733595, NULL, NULL);
INSERT INTO session VALUES ('ses_e2230086effeSWqIPP20RYYMKl', 'global', NULL, NULL, 'silent-harbor', '/home/user/project', 'home/user/project', 'What the notes say', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 17382, 35, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"scripted","providerID":"x","variant":"default"}', 1794722756498, 1794722798745, NULL, NULL);
INSERT INTO session VALUES ('ses_e222f17d5ffe6c1ezlYCyjFf0o', 'global', NULL, NULL, 'glowing-harbor', '/home/user/project', 'home/user/project', 'What the notes say', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 17423, 38, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"scripted","providerID":"x","variant":"default"}', 1794722818090, 1794722851582, NULL, NULL);
INSERT INTO session VALUES ('ses_e222ecb9dffeNrX2uqcQwufCdv', 'global', NULL, 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 'neon-orchid', '/home/user/project', 'home/user/project', 'Check the build (@general subagent)', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 7171, 8, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]', 'general', '{"id":"scripted","providerID":"x","variant":"default"}', 1794722837602, 1794722849588, NULL, NULL);
INSERT INTO session VALUES ('ses_e222e34ddffeIdQE8WlTVAOqMU', 'global', NULL, NULL, 'kind-sailor', '/home/user/project', 'home/user/project', 'What the notes say', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 17403, 18, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"scripted","providerID":"x","variant":"default"}', 1794722876195, 1794722912249, NULL, NULL);
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
        );
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
INSERT INTO message VALUES ('msg_1ddcf5a21001v79NGb7i68X5Wl', 'ses_e2230a92bffelDaVvbXAcV0xE2', 1794722716193, 1794722725203, '{"role":"user","time":{"created":1794722716193},"agent":"build","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1ddcf722e001ngXmWraIch2Gf3', 'ses_e2230a92bffelDaVvbXAcV0xE2', 1794722722350, 1794722731481, '{"parentID":"msg_1ddcf5a21001v79NGb7i68X5Wl","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":8664,"input":8656,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722722350,"completed":1794722731454},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1ddcffcbb001wHPfcZzSZRJAMW', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722757821, 1794722797966, '{"role":"user","time":{"created":1794722757821},"agent":"build","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1ddd02203001727wVUg5aN70Tj', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722767363, 1794722797641, '{"parentID":"msg_1ddcffcbb001wHPfcZzSZRJAMW","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":8687,"input":8660,"output":27,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722767363,"completed":1794722797635},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1ddd09852001CvLnT2lZP8UiMb', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722797650, 1794722798204, '{"parentID":"msg_1ddcffcbb001wHPfcZzSZRJAMW","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":8730,"input":8722,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722797650,"completed":1794722798165},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1ddd0ee54001jpADHW3fm70rrx', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722819669, 1794722849945, '{"role":"user","time":{"created":1794722819669},"agent":"build","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1ddd1137a001C7MRQochNPRCng', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722829178, 1794722849353, '{"parentID":"msg_1ddd0ee54001jpADHW3fm70rrx","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":8687,"input":8659,"output":28,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722829178,"completed":1794722849331},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1ddd134fe001GznvZDFtcYA191', 'ses_e222ecb9dffeNrX2uqcQwufCdv', 1794722837773, 1794722849725, '{"role":"user","time":{"created":1794722837773},"agent":"general","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1ddd1446d001YQVWaNdy8dRp8C', 'ses_e222ecb9dffeNrX2uqcQwufCdv', 1794722841709, 1794722848692, '{"parentID":"msg_1ddd134fe001GznvZDFtcYA191","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":7179,"input":7171,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722841709,"completed":1794722848673},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1ddd162ae001kokbnoh7zsaiM5', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722849454, 1794722850969, '{"parentID":"msg_1ddd0ee54001jpADHW3fm70rrx","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":8774,"input":8764,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722849454,"completed":1794722850968},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1ddd1cee9001ZRsFDh2sYsk1vS', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722877161, 1794722907352, '{"role":"user","time":{"created":1794722877161},"agent":"build","model":{"providerID":"x","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1ddd1fb210015zhxGQhbED8dal', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722888481, 1794722906598, '{"parentID":"msg_1ddd1cee9001ZRsFDh2sYsk1vS","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":8672,"input":8659,"output":13,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722888481,"completed":1794722906595},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1ddd2423e001aR4QG6pYrIMfFA', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722906686, 1794722911646, '{"parentID":"msg_1ddd1cee9001ZRsFDh2sYsk1vS","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/"},"cost":0,"tokens":{"total":8749,"input":8744,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"x","time":{"created":1794722906686,"completed":1794722911643},"finish":"stop"}');
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
INSERT INTO part VALUES ('prt_1ddcf5a43001KCIBcIoQ933fD3', 'msg_1ddcf5a21001v79NGb7i68X5Wl', 'ses_e2230a92bffelDaVvbXAcV0xE2', 1794722722299, 1794722722304, '{"type":"text","text":"\"Hello. play:hello\""}');
INSERT INTO part VALUES ('prt_1ddcf940b0012maSmYbZMVRzMz', 'msg_1ddcf722e001ngXmWraIch2Gf3', 'ses_e2230a92bffelDaVvbXAcV0xE2', 1794722731069, 1794722731084, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddcf9490001e6BGFJw6maXmCE', 'msg_1ddcf722e001ngXmWraIch2Gf3', 'ses_e2230a92bffelDaVvbXAcV0xE2', 1794722731152, 1794722731263, '{"type":"text","text":"Hello. The build is green.","time":{"start":1794722731152,"end":1794722731250}}');
INSERT INTO part VALUES ('prt_1ddcf9540001rgpziHLSIguNXZ', 'msg_1ddcf722e001ngXmWraIch2Gf3', 'ses_e2230a92bffelDaVvbXAcV0xE2', 1794722731329, 1794722731353, '{"reason":"stop","type":"step-finish","tokens":{"total":8664,"input":8656,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1ddcffd8c001xW7cKAuTtNyYdt', 'msg_1ddcffcbb001wHPfcZzSZRJAMW', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722767113, 1794722767117, '{"type":"text","text":"\"What do the notes say? play:look\""}');
INSERT INTO part VALUES ('prt_1ddd087960013hbWiveiG4juoH', 'msg_1ddd02203001727wVUg5aN70Tj', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722793366, 1794722793422, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddd087f4001Cvy7Pt1t8TLAuF', 'msg_1ddd02203001727wVUg5aN70Tj', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722793460, 1794722793555, '{"type":"reasoning","text":"The notes will tell.","time":{"start":1794722793460,"end":1794722793553}}');
INSERT INTO part VALUES ('prt_1ddd0888c001FCFossTuJ05ADw', 'msg_1ddd02203001727wVUg5aN70Tj', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722793613, 1794722794475, '{"type":"text","text":"Looking.","time":{"start":1794722793612,"end":1794722794452}}');
INSERT INTO part VALUES ('prt_1ddd089cb001M0U7Z46xoPzSi7', 'msg_1ddd02203001727wVUg5aN70Tj', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722793931, 1794722797581, '{"type":"tool","tool":"bash","callID":"call_2_1","state":{"status":"completed","input":{"command":"cat notes.txt","description":"Reads a file"},"output":"needle-42\n","metadata":{"output":"needle-42\n","exit":0,"truncated":false},"title":"cat notes.txt","time":{"start":1794722794313,"end":1794722797578}}}');
INSERT INTO part VALUES ('prt_1ddd09823001q1yXuttz7sjQiR', 'msg_1ddd02203001727wVUg5aN70Tj', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722797604, 1794722797606, '{"reason":"tool-calls","type":"step-finish","tokens":{"total":8687,"input":8660,"output":27,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1ddd09a2c001YwAZOb422hWGg3', 'msg_1ddd09852001CvLnT2lZP8UiMb', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722798124, 1794722798127, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddd09a31001rCwYia3hAFakLC', 'msg_1ddd09852001CvLnT2lZP8UiMb', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722798130, 1794722798146, '{"type":"text","text":"The note says needle-42.","time":{"start":1794722798129,"end":1794722798143}}');
INSERT INTO part VALUES ('prt_1ddd09a450015ftYBkIOAQ56sZ', 'msg_1ddd09852001CvLnT2lZP8UiMb', 'ses_e2230086effeSWqIPP20RYYMKl', 1794722798149, 1794722798151, '{"reason":"stop","type":"step-finish","tokens":{"total":8730,"input":8722,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1ddd0ef3e001L9CzmqWZm89HTk', 'msg_1ddd0ee54001jpADHW3fm70rrx', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722828664, 1794722828689, '{"type":"text","text":"\"Is the build green? play:delegate\""}');
INSERT INTO part VALUES ('prt_1ddd13160001S7Wqqy1zdnpfcG', 'msg_1ddd1137a001C7MRQochNPRCng', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722836832, 1794722836918, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddd131fa001nVN9KF3gYBAGJZ', 'msg_1ddd1137a001C7MRQochNPRCng', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722836987, 1794722849013, '{"type":"tool","tool":"task","callID":"call_2_1","state":{"status":"completed","input":{"description":"Check the build","prompt":"Is the build green? play:hello","subagent_type":"general"},"output":"<task id=\"ses_e222ecb9dffeNrX2uqcQwufCdv\" state=\"completed\">\n<task_result>\nHello. The build is green.\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_e222f17d5ffe6c1ezlYCyjFf0o","sessionId":"ses_e222ecb9dffeNrX2uqcQwufCdv","model":{"modelID":"scripted","providerID":"x"},"truncated":false},"title":"Check the build","time":{"start":1794722837654,"end":1794722848998}}}');
INSERT INTO part VALUES ('prt_1ddd13545001iuhEIPS2qatAhp', 'msg_1ddd134fe001GznvZDFtcYA191', 'ses_e222ecb9dffeNrX2uqcQwufCdv', 1794722837882, 1794722837920, '{"type":"text","text":"Is the build green? play:hello"}');
INSERT INTO part VALUES ('prt_1ddd15d50001fi06uNDtUwcdgB', 'msg_1ddd1446d001YQVWaNdy8dRp8C', 'ses_e222ecb9dffeNrX2uqcQwufCdv', 1794722848080, 1794722848098, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddd15d7e001rPw77LXFUsHCev', 'msg_1ddd1446d001YQVWaNdy8dRp8C', 'ses_e222ecb9dffeNrX2uqcQwufCdv', 1794722848127, 1794722848331, '{"type":"text","text":"Hello. The build is green.","time":{"start":1794722848126,"end":1794722848328}}');
INSERT INTO part VALUES ('prt_1ddd15f24001juw5L5mdEHcuqE', 'msg_1ddd1446d001YQVWaNdy8dRp8C', 'ses_e222ecb9dffeNrX2uqcQwufCdv', 1794722848548, 1794722848568, '{"reason":"stop","type":"step-finish","tokens":{"total":7179,"input":7171,"output":8,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1ddd16127001PgN6DwCq0MAHqn', 'msg_1ddd1137a001C7MRQochNPRCng', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722849064, 1794722849092, '{"reason":"tool-calls","type":"step-finish","tokens":{"total":8687,"input":8659,"output":28,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1ddd16746001DzLHFbwC1LYBqZ', 'msg_1ddd162ae001kokbnoh7zsaiM5', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722850630, 1794722850634, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddd1674c0014530dPXp0l052g', 'msg_1ddd162ae001kokbnoh7zsaiM5', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722850637, 1794722850745, '{"type":"text","text":"The helper says that the build is green.","time":{"start":1794722850636,"end":1794722850726}}');
INSERT INTO part VALUES ('prt_1ddd1684d001rhDvli4J785x76', 'msg_1ddd162ae001kokbnoh7zsaiM5', 'ses_e222f17d5ffe6c1ezlYCyjFf0o', 1794722850894, 1794722850900, '{"reason":"stop","type":"step-finish","tokens":{"total":8774,"input":8764,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1ddd1cf45001Dg2J9h8aiUeeft', 'msg_1ddd1cee9001ZRsFDh2sYsk1vS', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722887814, 1794722887894, '{"type":"text","text":"\"What was the needle? play:remember\""}');
INSERT INTO part VALUES ('prt_1ddd23d23001Qv6aPgoVQ6reew', 'msg_1ddd1fb210015zhxGQhbED8dal', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722905382, 1794722905390, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddd23d3e001Kp5gk1zMPwa3gQ', 'msg_1ddd1fb210015zhxGQhbED8dal', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722905406, 1794722906270, '{"type":"tool","tool":"lcm_lcm_grep","callID":"call_2_1","state":{"status":"completed","input":{"pattern":"needle-42"},"output":"0 matches for \"needle-42\" in all conversations (both, regex, by recency, index)\nnote: no conversation of this project is stored yet: all conversations were looked at\n","metadata":{"truncated":false},"title":"","time":{"start":1794722905527,"end":1794722906222}}}');
INSERT INTO part VALUES ('prt_1ddd24104001XNbxeLQnmDSzsY', 'msg_1ddd1fb210015zhxGQhbED8dal', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722906379, 1794722906431, '{"reason":"tool-calls","type":"step-finish","tokens":{"total":8672,"input":8659,"output":13,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1ddd254de001nnuBMjLNeZ2KUn', 'msg_1ddd2423e001aR4QG6pYrIMfFA', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722911454, 1794722911489, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_1ddd25505001KUL0DTdE6G2Xmg', 'msg_1ddd2423e001aR4QG6pYrIMfFA', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722911494, 1794722911608, '{"type":"text","text":"Nothing was found.","time":{"start":1794722911493,"end":1794722911573}}');
INSERT INTO part VALUES ('prt_1ddd25584001lOacYIXLnhP4eD', 'msg_1ddd2423e001aR4QG6pYrIMfFA', 'ses_e222e34ddffeIdQE8WlTVAOqMU', 1794722911620, 1794722911625, '{"reason":"stop","type":"step-finish","tokens":{"total":8749,"input":8744,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
CREATE TABLE `session_message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `type` text NOT NULL,
          `seq` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
        );
CREATE UNIQUE INDEX `session_message_session_seq_idx` ON `session_message` (`session_id`,`seq`);
CREATE INDEX `session_message_session_time_created_id_idx` ON `session_message` (`session_id`,`time_created`,`id`);
CREATE INDEX `session_message_session_type_seq_idx` ON `session_message` (`session_id`,`type`,`seq`);
CREATE INDEX `session_message_time_created_idx` ON `session_message` (`time_created`);
