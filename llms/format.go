package llms

// Format names the shape of a raw record.
type Format string

// The shapes that this package reads and writes.
const (
	// FormatText is a message of one text part whose record is just the
	// bytes of that text. The role travels beside it.
	FormatText Format = "text"
	// FormatLCM is this module's own JSON: every field of Message, with
	// bytes that are not UTF-8 in base64.
	FormatLCM Format = "lcm"
	// FormatAnthropic is a message of the Anthropic Messages API.
	FormatAnthropic Format = "anthropic"
	// FormatOpenAI is a message of the OpenAI Chat Completions API.
	FormatOpenAI Format = "openai"
)
