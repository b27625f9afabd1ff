package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// KeyVariable is the environment variable with the key.
const KeyVariable = "ANTHROPIC_API_KEY"

// Config says which model to run, and where.
type Config struct {
	// Model is required.
	Model string
	// APIKey is taken from ANTHROPIC_API_KEY when empty, but only for
	// Anthropic's own server: the key of one provider is not for another.
	APIKey string
	// BaseURL is that of Anthropic when empty.
	BaseURL string
	// MaxTokens limits answers for which the request sets no limit. Default
	// 8192.
	MaxTokens int
	// MaxRetries is how often a call is tried again before its first word.
	// Default 2; negative for never.
	MaxRetries int
	// IdleTimeout is how long the server may be silent. Default 5 minutes;
	// negative for ever.
	IdleTimeout time.Duration
	// HTTPClient is http.DefaultClient when nil.
	HTTPClient *http.Client
}

// The defaults of Config.
const (
	DefaultMaxTokens   = 8192
	DefaultMaxRetries  = 2
	DefaultIdleTimeout = 5 * time.Minute
)

// Model is a Claude model. It implements [llms.Model].
type Model struct {
	config Config
	client anthropic.Client
}

var _ llms.Model = (*Model)(nil)

// New returns a model. It fails where no call could succeed: without a
// model, and without a key for Anthropic's own server.
func New(c Config) (*Model, error) {
	if strings.TrimSpace(c.Model) == "" {
		return nil, &llms.Error{Class: llms.ClassInvalid, Provider: provider, Message: "no model is set"}
	}
	if c.APIKey == "" && c.home() {
		c.APIKey = os.Getenv(KeyVariable)
	}
	if c.APIKey == "" && c.home() {
		return nil, &llms.Error{Class: llms.ClassAuth, Provider: provider,
			Message: "there is no API key: set " + KeyVariable + " or put it into the config file"}
	}
	c.MaxTokens = cmp.Or(max(c.MaxTokens, 0), DefaultMaxTokens)
	c.MaxRetries = cmp.Or(c.MaxRetries, DefaultMaxRetries)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, DefaultIdleTimeout)
	c.HTTPClient = cmp.Or(c.HTTPClient, http.DefaultClient)
	options := []option.RequestOption{
		option.WithEnvironmentProduction(), // the address, unless there is another below
		option.WithHTTPClient(llms.WatchHTTP(c.HTTPClient)),
		option.WithMaxRetries(max(c.MaxRetries, 0)),
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	if c.BaseURL != "" {
		options = append(options, option.WithBaseURL(c.BaseURL))
	}
	// NewClient would read keys and addresses from the environment.
	return &Model{config: c, client: anthropic.Client{Options: options}}, nil
}

// home reports whether calls go to the provider's own server.
func (c Config) home() bool {
	u, err := url.Parse(c.BaseURL)
	return c.BaseURL == "" || err == nil && u.Hostname() == "api.anthropic.com"
}

const provider = "anthropic"

// Name implements [llms.Model].
func (m *Model) Name() string { return provider + "/" + m.config.Model }

// Stream implements [llms.Model].
func (m *Model) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return llms.GiveUpWhenIdle(ctx, provider, m.config.IdleTimeout, func(ctx context.Context) iter.Seq2[llms.Event, error] {
		return func(yield func(llms.Event, error) bool) {
			body, err := m.body(r)
			if err != nil {
				yield(llms.Event{}, &llms.Error{Class: llms.ClassInvalid, Provider: provider, Message: err.Error()})
				return
			}
			m.run(ctx, body, yield)
		}
	})
}

// request is the body of a call. The SDK's own types would only be filled to be
// written as the JSON that package llms writes anyway, and their events would
// link every type of the API.
type request struct {
	Model         string            `json:"model"`
	MaxTokens     int               `json:"max_tokens"`
	System        []block           `json:"system,omitempty"`
	Messages      []json.RawMessage `json:"messages"`
	Tools         []tool            `json:"tools,omitempty"`
	Temperature   *float64          `json:"temperature,omitempty"`
	StopSequences []string          `json:"stop_sequences,omitempty"`
	ToolChoice    *toolChoice       `json:"tool_choice,omitempty"`
	OutputConfig  *outputConfig     `json:"output_config,omitempty"`
	CacheControl  *cacheControl     `json:"cache_control,omitempty"`
	Stream        bool              `json:"stream"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type cacheControl struct {
	Type string `json:"type"`
}

func (m *Model) body(r llms.Request) ([]byte, error) {
	more, messages := llms.SplitSystem(r.Messages)
	records, err := wire.EncodeAll(llms.FormatAnthropic, llms.WithoutRecords(messages))
	if err != nil {
		return nil, fmt.Errorf("the conversation cannot be written for the Messages API: %w", err)
	}
	body := request{
		Model: cmp.Or(r.Model, m.config.Model), MaxTokens: cmp.Or(max(r.MaxTokens, 0), m.config.MaxTokens), Messages: records,
		Temperature: r.Temperature, StopSequences: r.Stop, Stream: true,
	}
	for _, text := range []string{r.System, more} {
		if strings.TrimSpace(text) != "" {
			body.System = append(body.System, block{"text", text})
		}
	}
	for _, t := range r.Tools {
		body.Tools = append(body.Tools, tool{t.Name, t.Description, t.Parameters})
	}
	switch r.ToolChoice {
	case "":
	case llms.ToolRequired:
		body.ToolChoice = &toolChoice{Type: "any"}
	case llms.ToolNone:
		body.ToolChoice = &toolChoice{Type: "none"}
	default:
		body.ToolChoice = &toolChoice{"tool", r.ToolChoice}
	}
	if r.Effort != "" || r.Schema != nil {
		body.OutputConfig = &outputConfig{Effort: r.Effort}
		if r.Schema != nil {
			body.OutputConfig.Format = &outputFormat{"json_schema", r.Schema}
		}
	}
	if m.config.home() {
		// Conversations grow at the end, so the provider can reuse the rest.
		// Other servers may not know the field.
		body.CacheControl = &cacheControl{"ephemeral"}
	}
	return json.Marshal(body)
}
