package anthropic

import (
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
	"github.com/anthropics/anthropic-sdk-go/packages/param"

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
	if c.MaxTokens <= 0 {
		c.MaxTokens = DefaultMaxTokens
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = DefaultMaxRetries
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(llms.WatchHTTP(c.HTTPClient)),
		option.WithMaxRetries(max(c.MaxRetries, 0)),
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	if c.BaseURL != "" {
		options = append(options, option.WithBaseURL(c.BaseURL))
	}
	return &Model{config: c, client: anthropic.NewClient(options...)}, nil
}

// home reports whether calls go to the provider's own server.
func (c Config) home() bool {
	u, err := url.Parse(c.BaseURL)
	return c.BaseURL == "" || err == nil && u.Hostname() == "api.anthropic.com"
}

const provider = "anthropic"

// Name implements [llms.Model].
func (e *Model) Name() string { return provider + "/" + e.config.Model }

// Stream implements [llms.Model].
func (e *Model) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return llms.GiveUpWhenIdle(ctx, provider, e.config.IdleTimeout, func(ctx context.Context) iter.Seq2[llms.Event, error] {
		return func(yield func(llms.Event, error) bool) {
			params, err := e.params(r)
			if err != nil {
				yield(llms.Event{}, &llms.Error{Class: llms.ClassInvalid, Provider: provider, Message: err.Error()})
				return
			}
			e.run(ctx, params, yield)
		}
	})
}

// params translates a request. The messages travel in the JSON that package
// llms writes: the SDK's types would only be filled to be written again.
func (e *Model) params(r llms.Request) (anthropic.MessageNewParams, error) {
	more, messages := llms.SplitSystem(r.Messages)
	records, err := llms.EncodeAll(llms.FormatAnthropic, llms.WithoutRecords(messages))
	if err != nil {
		return anthropic.MessageNewParams{}, fmt.Errorf("the conversation cannot be written for the Messages API: %w", err)
	}
	p := anthropic.MessageNewParams{
		Model:         anthropic.Model(e.config.Model),
		MaxTokens:     int64(e.config.MaxTokens),
		StopSequences: r.Stop,
	}
	if r.Model != "" {
		p.Model = anthropic.Model(r.Model)
	}
	if r.MaxTokens > 0 {
		p.MaxTokens = int64(r.MaxTokens)
	}
	if r.Temperature != nil {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	for _, text := range []string{r.System, more} {
		if strings.TrimSpace(text) != "" {
			p.System = append(p.System, anthropic.TextBlockParam{Text: text})
		}
	}
	for _, record := range records {
		p.Messages = append(p.Messages, param.Override[anthropic.MessageParam](record))
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, toolParam(t))
	}
	if e.config.home() {
		// Conversations grow at the end, so the provider can reuse the rest.
		// Other servers may not know the field.
		p.CacheControl = anthropic.NewCacheControlEphemeralParam()
	}
	return p, nil
}

func toolParam(t llms.ToolSpec) anthropic.ToolUnionParam {
	tool := anthropic.ToolParam{
		Name:        t.Name,
		InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(t.Parameters)),
	}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	return anthropic.ToolUnionParam{OfTool: &tool}
}
