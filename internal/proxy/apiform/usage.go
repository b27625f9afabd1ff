package apiform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
)

// Usage is the cost of an answer, in tokens. Input counts the tokens that were neither
// read from the provider's cache nor written to it.
type Usage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	Output     int `json:"output"`
}

// Total is the size of the request.
func (u Usage) Total() int { return u.Input + u.CacheRead + u.CacheWrite }

// usageJSON has the names that the APIs use.
type usageJSON struct {
	InputTokens     int `json:"input_tokens"`
	OutputTokens    int `json:"output_tokens"`
	CacheRead       int `json:"cache_read_input_tokens"`
	CacheWrite      int `json:"cache_creation_input_tokens"`
	PromptTokens    int `json:"prompt_tokens"`
	CompletionToken int `json:"completion_tokens"`
	GeminiPrompt    int `json:"promptTokenCount"`
	GeminiCached    int `json:"cachedContentTokenCount"`
	GeminiAnswer    int `json:"candidatesTokenCount"`
	GeminiThoughts  int `json:"thoughtsTokenCount"`
	InputDetails    struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// event is an event of a stream, or a whole answer.
type event struct {
	Usage   *usageJSON `json:"usage"`
	Gemini  *usageJSON `json:"usageMetadata"`
	Message *struct {
		Usage *usageJSON `json:"usage"`
	} `json:"message"`
	Response *struct {
		Usage *usageJSON `json:"usage"`
	} `json:"response"`
}

// add takes the counts of an event over. Later events of a stream repeat or complete
// earlier ones.
func (u *Usage) add(raw []byte) {
	var e event
	if json.Unmarshal(raw, &e) != nil {
		return
	}
	found := cmp.Or(e.Usage, e.Gemini)
	if e.Message != nil && e.Message.Usage != nil {
		found = e.Message.Usage
	}
	if e.Response != nil && e.Response.Usage != nil {
		found = e.Response.Usage
	}
	if found == nil {
		return
	}
	now := Usage{Input: found.InputTokens, CacheRead: found.CacheRead, CacheWrite: found.CacheWrite, Output: found.OutputTokens}
	switch {
	case found.GeminiPrompt > 0:
		now = Usage{Input: found.GeminiPrompt - found.GeminiCached, CacheRead: found.GeminiCached, Output: found.GeminiAnswer + found.GeminiThoughts}
	case found.PromptTokens > 0:
		now = Usage{Input: found.PromptTokens - found.PromptDetails.Cached, CacheRead: found.PromptDetails.Cached, Output: found.CompletionToken}
	case found.InputDetails.Cached > 0: // OpenAI counts cached tokens as input too
		now.Input, now.CacheRead = now.Input-found.InputDetails.Cached, found.InputDetails.Cached
	}
	if now.Total() > 0 {
		u.Input, u.CacheRead, u.CacheWrite = now.Input, now.CacheRead, now.CacheWrite
	}
	u.Output = max(u.Output, now.Output)
}

// maxLine bounds how much of a line or of a JSON answer is kept to look for usage.
const maxLine = 4 << 20

// UsageReader passes the body of an answer on and finds the usage in it. Done is
// called once, at the end of the body or when it is closed.
type UsageReader struct {
	io.ReadCloser
	// Stream says that the body is a stream of events, else it is one object.
	Stream bool
	// Done gets the usage.
	Done func(u Usage)
	// Refusal is an event of a stream with which the API says that the request is too
	// long for the model.
	Refusal []byte

	usage Usage
	line  []byte
	ended bool
}

// Read implements [io.Reader].
func (r *UsageReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.look(p[:n])
	if err != nil {
		r.end()
	}
	return n, err
}

// Close implements [io.Closer].
func (r *UsageReader) Close() error {
	r.end()
	return r.ReadCloser.Close()
}

func (r *UsageReader) end() {
	if r.ended {
		return
	}
	r.ended = true
	r.take()
	r.Done(r.usage)
}

// look splits a stream into lines. The first line that says how large the request was
// is the first event, so that a stream that is cut counts too.
func (r *UsageReader) look(p []byte) {
	if !r.Stream {
		if len(r.line)+len(p) <= maxLine {
			r.line = append(r.line, p...)
		}
		return
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if len(r.line)+len(part) <= maxLine {
			r.line = append(r.line, part...)
		}
		if i < 0 {
			return
		}
		r.take()
		p = p[i+1:]
	}
}

// take reads the line that is complete.
func (r *UsageReader) take() {
	line := bytes.TrimSpace(r.line)
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
	if bytes.Contains(line, []byte(`"usage`)) && line[0] == '{' {
		r.usage.add(line)
	}
	if bytes.Contains(line, []byte("context_length_exceeded")) {
		r.Refusal = bytes.Clone(line)
	}
	r.line = r.line[:0]
}
