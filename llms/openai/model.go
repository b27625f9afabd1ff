package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// KeyVariable is the environment variable with the key.
const KeyVariable = "OPENAI_API_KEY"

// API is one of OpenAI's interfaces.
type API string

// The APIs.
const (
	Chat      API = "chat"      // Chat Completions
	Responses API = "responses" // Responses
)

// Config says which model to run, and where.
type Config struct {
	// Model is required.
	Model string
	// API is Chat when empty.
	API API
	// APIKey is taken from OPENAI_API_KEY when empty, but only for OpenAI's
	// own server: the key of one provider is not for another.
	APIKey string
	// BaseURL is that of OpenAI when empty. It ends before
	// /chat/completions: http://localhost:11434/v1 for Ollama.
	BaseURL string
	// MaxTokens limits answers for which the request sets no limit. Default:
	// the server's.
	MaxTokens int
	// MaxRetries is how often a call is tried again before its first word.
	// Default 2; negative for never.
	MaxRetries int
	// IdleTimeout is how long the server may be silent. Default 5 minutes;
	// negative for ever.
	IdleTimeout time.Duration
	// HTTPClient is http.DefaultClient when nil.
	HTTPClient *http.Client
	// NewID names tool calls that a compatible server gave no id. Random when
	// nil.
	NewID func() string
}

// The defaults of Config.
const (
	DefaultMaxRetries  = 2
	DefaultIdleTimeout = 5 * time.Minute
)

// Model is a model of OpenAI or of a compatible server. It implements
// [llms.Model].
type Model struct {
	config  Config
	service responses.ResponseService
}

var _ llms.Model = (*Model)(nil)

// New returns a model. It fails where no call could succeed: without a
// model, and without a key for OpenAI's own server.
func New(c Config) (*Model, error) {
	if strings.TrimSpace(c.Model) == "" {
		return nil, &llms.Error{Class: llms.ClassInvalid, Provider: provider, Message: "no model is set"}
	}
	if c.API = cmp.Or(c.API, Chat); c.API != Chat && c.API != Responses {
		return nil, &llms.Error{Class: llms.ClassInvalid, Provider: provider,
			Message: "unknown API " + string(c.API) + ": use " + string(Chat) + " or " + string(Responses)}
	}
	if c.APIKey == "" && c.home() {
		c.APIKey = os.Getenv(KeyVariable)
	}
	if c.APIKey == "" && c.home() {
		return nil, &llms.Error{Class: llms.ClassAuth, Provider: provider,
			Message: "there is no API key: set " + KeyVariable + " or put it into the config file"}
	}
	c.MaxRetries = cmp.Or(c.MaxRetries, DefaultMaxRetries)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, DefaultIdleTimeout)
	c.HTTPClient = cmp.Or(c.HTTPClient, http.DefaultClient)
	if c.NewID == nil {
		c.NewID = func() string { return "call_" + rand.Text() }
	}
	return &Model{config: c, service: responses.NewResponseService(c.options()...)}, nil
}

func (c Config) options() []option.RequestOption {
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
	return options
}

// stream posts body and returns the events of the answer.
//
// The SDK serves Chat Completions from its root package. That package registers
// the types of every API when it is loaded, and so adds 12 MB to a binary. The
// service of package responses has the same client: calls of both APIs go through
// it, with bodies and events of this package.
func stream[T any](ctx context.Context, m *Model, body []byte, options ...option.RequestOption) *ssestream.Stream[wire.Lenient[T]] {
	var answer *http.Response
	options = append(options, option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&answer))
	_, err := m.service.New(ctx, responses.ResponseNewParams{}, options...)
	return ssestream.NewStream[wire.Lenient[T]](ssestream.NewDecoder(answer), err)
}

// home reports whether calls go to the provider's own server.
func (c Config) home() bool {
	u, err := url.Parse(c.BaseURL)
	return c.BaseURL == "" || err == nil && u.Hostname() == "api.openai.com"
}

const provider = "openai"

// Name implements [llms.Model].
func (m *Model) Name() string { return provider + "/" + m.config.Model }

// Stream implements [llms.Model].
func (m *Model) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	r.Model = cmp.Or(r.Model, m.config.Model)
	r.MaxTokens = cmp.Or(r.MaxTokens, m.config.MaxTokens)
	r.Messages = errorsInWords(r.Messages)
	run := m.chat
	if m.config.API == Responses {
		run = m.respond
	}
	return llms.GiveUpWhenIdle(ctx, provider, m.config.IdleTimeout, func(ctx context.Context) iter.Seq2[llms.Event, error] {
		return func(yield func(llms.Event, error) bool) { run(ctx, r, yield) }
	})
}

// invalid returns the error of a request that cannot be written.
func invalid(err error) *llms.Error {
	return &llms.Error{Class: llms.ClassInvalid, Provider: provider, Message: err.Error()}
}

// finish yields the error that a stream ended in, if it did not end well.
func (m *Model) finish(ctx context.Context, err error, ended bool, used llms.Usage, yield func(llms.Event, error) bool) {
	switch {
	case ended:
	case ctx.Err() != nil:
		yield(llms.Event{}, llms.Canceled(ctx, provider).Costing(used))
	case err != nil:
		yield(llms.Event{}, m.failure(err).Costing(used))
	default:
		yield(llms.Event{}, llms.Truncated(ctx, provider).Costing(used))
	}
}

// failure translates an error of the SDK. Nothing of it is kept but words:
// it holds the request, and with it the key.
func (m *Model) failure(err error) *llms.Error {
	f := llms.Failure{Provider: provider, Message: err.Error(), Secrets: []string{m.config.APIKey}}
	if answered, ok := errors.AsType[*responses.Error](err); ok {
		f.Status, f.Code = answered.StatusCode, answered.Code+" "+answered.Type
		if answered.Message != "" {
			f.Message = answered.Message
		}
		if answered.Response != nil {
			f.Header = answered.Response.Header
		}
	}
	if broken, ok := errors.AsType[*ssestream.StreamError](err); ok {
		var body struct {
			Error struct {
				Message string `json:"message"`
				Type    string `json:"type"`
				Code    any    `json:"code"`
			} `json:"error"`
		}
		if json.Unmarshal(broken.Event.Data, &body) == nil && body.Error.Message != "" {
			code, _ := body.Error.Code.(string)
			f.Code, f.Message = code+" "+body.Error.Type, body.Error.Message
		}
	}
	return llms.Classify(f)
}
