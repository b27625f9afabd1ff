package config

import "slices"

// hour bounds durations, in milliseconds.
const hour = 60 * 60 * 1000

// Table returns every setting, grouped by section in the order of the
// documentation.
func Table() []Setting { return slices.Clone(table) }

var table = []Setting{
	{Key: "storage.database_path", Env: "LCM_DATABASE_PATH", Kind: String,
		Doc: "The SQLite file, or the URL of a PostgreSQL database (`postgres://user@host/name`; the password comes from `PGPASSFILE` or `PGPASSWORD`). Empty means `lcm/lcm.db` in `$XDG_DATA_HOME`, else in `~/.local/share`."},
	{Key: "storage.synchronous", Env: "LCM_SYNCHRONOUS", Kind: String, Default: "full", Enum: []string{"full", "relaxed"},
		Doc: "With `full` an acknowledged append survives a power cut; with `relaxed` only a crash of the program."},
	{Key: "storage.busy_timeout_ms", Env: "LCM_BUSY_TIMEOUT_MS", Kind: Duration, Default: "30000", Min: 1, Max: hour,
		Doc: "How long to wait for another process that is writing to the same database."},

	{Key: "ingest.large_file_token_threshold", Env: "LCM_LARGE_FILE_TOKEN_THRESHOLD", Kind: Int, Default: "25000", Min: 500,
		Doc: "Content of more tokens is stored as a payload, with a short reference in the view."},
	{Key: "ingest.ignore_session_patterns", Env: "LCM_IGNORE_SESSION_PATTERNS", Kind: Strings,
		Doc: "Sessions whose key matches are never stored; `*` stands for any characters."},
	{Key: "ingest.ignore_project_patterns", Env: "LCM_IGNORE_PROJECT_PATTERNS", Kind: Strings,
		Doc: "Sessions in a project whose directory or git origin matches, or lies in one that does, are never stored."},
	{Key: "ingest.redact", Env: "LCM_REDACT", Kind: String, Default: "search", Enum: []string{"off", "search", "all"},
		Doc: "Secrets such as keys and tokens: `search` keeps them in the original record only; `off` shows them everywhere; `all` removes them before anything is stored. See docs/PRIVACY.md."},

	{Key: "context.token_budget", Env: "LCM_TOKEN_BUDGET", Kind: Int, Default: "128000", Min: 1000,
		Doc: "The size of the view that a model sees, where the caller does not give one."},
	{Key: "context.context_threshold", Env: "LCM_CONTEXT_THRESHOLD", Kind: Float, Default: "0.75", Min: 0.01, Max: 1,
		Doc: "Above this fraction of the budget older messages are folded in the background, down to `context.low_threshold`."},
	{Key: "context.hard_threshold", Env: "LCM_HARD_THRESHOLD", Kind: Float, Default: "0.95", Min: 0.01, Max: 1,
		Doc: "At this fraction of the budget the call that asks for context waits for folding, for at most a second."},
	{Key: "context.low_threshold", Env: "LCM_LOW_THRESHOLD", Kind: Float, Default: "0", Max: 1,
		Doc: "Folding goes on to this fraction of the budget; the beginning of the view then stays the same until the soft threshold is reached again, for the provider's prompt cache. 0 means 0.4 of the soft threshold, or 30,000 tokens (at most 0.8 of it) where that is more. The fresh tail and the newest user message are never folded."},
	{Key: "context.fresh_tail_count", Env: "LCM_FRESH_TAIL_COUNT", Kind: Int, Default: "64",
		Doc: "How many of the newest messages are never folded."},
	{Key: "context.tokenizer", Env: "LCM_TOKENIZER", Kind: String, Default: "estimate", Enum: []string{"estimate", "o200k", "cl100k"},
		Doc: "How tokens are counted: a fast estimate that knows CJK and emoji, or one of OpenAI's vocabularies."},

	{Key: "compaction.leaf_chunk_tokens", Env: "LCM_LEAF_CHUNK_TOKENS", Kind: Int, Default: "12000", Min: 1,
		Doc: "The most source tokens that one summary is made from."},
	{Key: "compaction.background", Env: "LCM_BACKGROUND_COMPACTION", Kind: String, Default: BackgroundExtractive,
		Enum: []string{BackgroundOff, BackgroundExtractive, BackgroundModel},
		Doc:  "How the sessions of hosts are folded in the background. `off`: only by `lcm compact`; `extractive` spends nothing; `model` lets `summary.model` write the summaries."},

	{Key: "summary.model", Env: "LCM_SUMMARY_MODEL", Kind: String,
		Doc: "The model that writes summaries. Empty: the extractive summariser does."},
	{Key: "summary.provider", Env: "LCM_SUMMARY_PROVIDER", Kind: String, Enum: []string{"auto", "anthropic", "openai"}, Default: "auto",
		Doc: "Its provider; `openai` for every server that speaks that protocol. `auto` goes by the model's name."},
	{Key: "summary.custom_instructions", Env: "LCM_CUSTOM_INSTRUCTIONS", Kind: String,
		Doc: "Added to every prompt that asks for a summary."},
	{Key: "summary.timeout_ms", Env: "LCM_SUMMARY_TIMEOUT_MS", Kind: Duration, Default: "60000", Min: 1, Max: hour,
		Doc: "For one call of the summariser."},
	{Key: "summary.max_calls_per_window", Env: "LCM_SUMMARY_MAX_CALLS_PER_WINDOW", Kind: Int, Default: "24", Min: 1,
		Doc: "The most calls for summaries of one conversation in 10 minutes; after them none for half an hour."},

	{Key: "models.tokens_per_day", Env: "LCM_TOKENS_PER_DAY", Kind: Int, Default: "2000000",
		Doc: "The most tokens that models may cost in a day (UTC), for all purposes; 0 is no limit."},
	{Key: "models.anthropic_api_key", Env: "ANTHROPIC_API_KEY", Kind: String, Secret: true,
		Doc: "The key for Anthropic's models."},
	{Key: "models.anthropic_base_url", Env: "ANTHROPIC_BASE_URL", Kind: String,
		Doc: "Where Anthropic's protocol is spoken, if not at Anthropic. A key that is only in the environment is not sent to an address that only this file names."},
	{Key: "models.openai_api_key", Env: "OPENAI_API_KEY", Kind: String, Secret: true,
		Doc: "The key for OpenAI's models, or for the server that models.openai_base_url names."},
	{Key: "models.openai_base_url", Env: "OPENAI_BASE_URL", Kind: String,
		Doc: "Where OpenAI's protocol is spoken, if not at OpenAI, such as `http://127.0.0.1:11434/v1` for Ollama. The same holds for the key."},

	{Key: "recall.expansion_model", Env: "LCM_EXPANSION_MODEL", Kind: String,
		Doc: "The model that answers questions about the record. Empty: `subagents.model`, else that of the agent that asks; without any, answers are verbatim passages."},
	{Key: "recall.max_expand_tokens", Env: "LCM_MAX_EXPAND_TOKENS", Kind: Int, Default: "68000", Min: 1,
		Doc: "The most tokens of source text that one question may open."},
	{Key: "recall.max_model_tokens", Env: "LCM_MAX_MODEL_TOKENS", Kind: Int, Default: "160000", Min: 1000,
		Doc: "The most input tokens that models may be sent for one question; each call repeats what was read before."},
	{Key: "recall.delegation_timeout_ms", Env: "LCM_DELEGATION_TIMEOUT_MS", Kind: Duration, Default: "120000", Min: 1, Max: hour,
		Doc: "For one question."},

	{Key: "subagents.model", Env: "LCM_SUBAGENTS_MODEL", Kind: String,
		Doc: "The model of sub-agents and of `lcm map`, where no model is set for their task."},

	{Key: "mcp.max_result_tokens", Env: "LCM_MCP_MAX_RESULT_TOKENS", Kind: Int, Default: "6000", Min: 1000, Max: 60000,
		Doc: "The most tokens of one answer; the rest follows by cursor. Claude Code warns from 10,000 on and refuses 25,000."},
	{Key: "mcp.token", Env: "LCM_MCP_TOKEN", Kind: String, Secret: true,
		Doc: "The bearer token for `lcm mcp --http`. Empty: each start makes one and shows it."},

	{Key: "hooks.prompt_recall", Env: "LCM_PROMPT_RECALL", Kind: Bool, Default: "true",
		Doc: "Whether a prompt that clearly refers to earlier work gets up to four cited lines of the record, at most 400 tokens."},

	{Key: "tools.shorten_above", Env: "LCM_TOOLS_SHORTEN_ABOVE", Kind: Int, Default: "0", Max: 1000000,
		Doc: "In pi, OpenClaw and opencode, a longer output of a tool is handed on as its beginning, its lines with errors, its end and an id for the rest (`lcm_describe` with `lines` or `pattern`), once the whole is in the record. Files that are read, and sessions that are not recorded, stay whole. 0 shortens nothing; else at least 500."},

	{Key: "sync.url", Env: "LCM_SYNC_URL", Kind: String,
		Doc: "The team's server, like `https://lcm.example`, which `lcm sync` pushes to and `--team` searches; or another machine of yours, like `ssh://desktop`."},
	{Key: "sync.token", Env: "LCM_SYNC_TOKEN", Kind: String, Secret: true,
		Doc: "The token for that server, from `lcm team token add`."},
	{Key: "sync.machine", Env: "LCM_SYNC_MACHINE", Kind: String,
		Doc: "The name of this machine elsewhere. Empty: the host name."},
	{Key: "sync.private_project_patterns", Env: "LCM_SYNC_PRIVATE_PROJECT_PATTERNS", Kind: Strings,
		Doc: "Projects that are stored here and never pushed, by directory or git origin; `*` stands for any characters. Ignored ones are never pushed either."},
	{Key: "sync.hook", Env: "LCM_SYNC_HOOK", Kind: Bool, Default: "false",
		Doc: "Whether hooks run `lcm sync` after a turn, in the background. ssh then needs a key without a passphrase, or an agent."},
	{Key: "sync.remote_lcm", Env: "LCM_SYNC_REMOTE_LCM", Kind: String,
		Doc: "The path of lcm on the machine that `sync.url` names. Empty: it is looked for there."},

	{Key: "proxy.budget", Env: "LCM_PROXY_BUDGET", Kind: Int, Default: "0",
		Doc: "The most tokens of a request. Above it the oldest messages give way to their summaries. At least 30,000; 0 means 60 % of the model's window, up to 80 % where instructions and tools take much of it, and at most 150,000."},

	{Key: "log.level", Env: "LCM_LOG_LEVEL", Kind: String, Default: "warn", Enum: []string{"debug", "info", "warn", "error"},
		Doc: "What is logged."},
	{Key: "log.format", Env: "LCM_LOG_FORMAT", Kind: String, Default: "text", Enum: []string{"text", "json"},
		Doc: "How it is logged."},
	{Key: "log.file", Env: "LCM_LOG_FILE", Kind: String,
		Doc: "The file of the log. Empty: standard error."},
}

// retired are settings of earlier versions. A file that has one is read as if it had not: a hook
// that refused it would record nothing. `lcm doctor` names them.
var retired = []string{
	"context.fresh_tail_max_tokens", "compaction.condensed_target_tokens", "compaction.leaf_min_fanout",
	"compaction.condensed_min_fanout", "compaction.condensed_min_fanout_hard", "compaction.sweep_max_depth",
	"compaction.max_sweep_iterations", "compaction.sweep_deadline_ms", "summary.max_overage_factor",
	"summary.extractive_on_auth", "summary.call_window_ms", "summary.spend_backoff_ms",
	"recall.page_tokens", "compaction.leaf_target_tokens",
	"embeddings.model", "embeddings.base_url", "embeddings.api_key", "embeddings.timeout_ms", "chat.model",
}

// lookup finds a setting by its key.
func lookup(key string) (Setting, bool) {
	i := slices.IndexFunc(table, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return table[i], true
}
