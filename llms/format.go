package llms

// Format names the shape of a raw record.
type Format string

// The shapes that messages are read from and written in.
const (
	// FormatText is a message of one text part whose record is just the
	// bytes of that text. The role is stored beside it.
	FormatText Format = "text"
	// FormatLCM is this module's own JSON: every field of Message, with
	// bytes that are not UTF-8 in base64.
	FormatLCM Format = "lcm"
	// FormatAnthropic is a message of the Anthropic Messages API.
	FormatAnthropic Format = "anthropic"
	// FormatOpenAI is a message of the OpenAI Chat Completions API.
	FormatOpenAI Format = "openai"
)

// The shapes of agents' transcripts, which are only read. A record that is no
// message gives a system message without parts; one of an unknown type gives a
// single PartOther with the whole record.
const (
	// FormatClaude is a line of a transcript of Claude Code.
	FormatClaude Format = "claude"
	// FormatCodex is a line of a rollout of the Codex CLI.
	FormatCodex Format = "codex"
	// FormatOpencode is a row of opencode's database as JSON. The role of a
	// part is in another row and travels beside it.
	FormatOpencode Format = "opencode"
	// FormatCopilot is an event of a session of GitHub's Copilot CLI.
	FormatCopilot Format = "copilot"
	// FormatCline is a message of a session of the Cline CLI, or the session's own members.
	FormatCline Format = "cline"
	// FormatDroid is a line of a session of Factory's Droid.
	FormatDroid Format = "droid"
	// FormatPi is an entry of a session of pi, or of a program that is built on it.
	FormatPi Format = "pi"
	// FormatGemini is a line of a session of Gemini CLI, or a content of Gemini's API.
	FormatGemini Format = "gemini"
	// FormatQwen is a line of a session of Qwen Code: the envelope is like Claude
	// Code's, the message is in the shape of Gemini's API.
	FormatQwen Format = "qwen"
)
