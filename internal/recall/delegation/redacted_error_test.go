package delegation

import (
	"errors"
	"testing"
)

// Errors of providers lose their secrets and keep what says what went wrong.
func TestErrorsLoseTheirSecrets(t *testing.T) {
	google := "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"
	for _, c := range []struct{ said, want string }{
		{`Post "https://models.example/v1beta/m:stream?alt=sse&key=` + google + `": EOF`, `Post "https://models.example/v1beta/m:stream?[redacted]": EOF`},
		{"GET /v1/models?api_key=k1&page=2: 403", "GET /v1/models?api_key=[redacted]&page=[redacted] 403"},
		{"https://models.example/cb#access_token=abc failed", "https://models.example/cb#[redacted] failed"},
		{"Authorization: Bearer abc123 was refused", "Authorization: [redacted] was refused"},
		{"Authorization: Basic dXNlcjpwYXNz", "Authorization: [redacted]"},
		{`{"Authorization": "Bearer abc123", "n": 1}`, `{"Authorization": "[redacted]", "n": 1}`},
		{"bearer abc123 has expired", "bearer [redacted] has expired"},
		{"x-api-key: short was refused", "x-api-key: [redacted] was refused"},
		{`body {\"api_key\":\"abc\",\"n\":1}`, `body {\"api_key\":\"[redacted]\",\"n\":1}`},
		{"apikey=abc; token=def", "apikey=[redacted]; token=[redacted]"},
		{"Incorrect API key provided: abc.", "Incorrect API key provided: [redacted]"},
		{"dial https://user:p/w@host/v1: refused", "dial https://[redacted]@host/v1: refused"},
		{"dial https://user:pa@ss@host/v1: refused", "dial https://[redacted]@host/v1: refused"},
		{"dial https://user:p?w@host/v1", "dial https://[redacted]@host/v1"},
		{"dial https://mytoken@host", "dial https://[redacted]@host"},
		// The sub-agent's own key is no secret.
		{`agent "agent:main:subagent:5b0d4a52-2d0f-4d5c-9d2f-8a1f0c6e7b31": 529 overloaded`, "529 overloaded"},
		// What is no secret stays.
		{"max_tokens: 4096 is more than this model allows", "max_tokens: 4096 is more than this model allows"},
		{"Post https://models.example:8443/v1/messages: 529 overloaded", "Post https://models.example:8443/v1/messages: 529 overloaded"},
		{"429: rate limit of 30,000 input tokens per minute", "429: rate limit of 30,000 input tokens per minute"},
	} {
		err := errors.New(c.said)
		got := redactedError{err}
		if got.Error() != c.want || !errors.Is(got, err) {
			t.Errorf("%s\n got %s\nwant %s", c.said, got, c.want)
		}
	}
}
