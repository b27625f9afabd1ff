package apiform_test

import (
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
)

// TestTooLong: the window is read from the errors of the APIs.
func TestTooLong(t *testing.T) {
	for text, want := range map[string]int{
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200251 tokens > 200000 maximum"}}`:                                      200_000,
		`{"message":"prompt is too long: 70000 tokens \u003e 65536 maximum"}`:                                                                                           65_536,
		"input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length":                                                            200_000,
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 10010 tokens.","code":"context_length_exceeded"}}`: 8_192,
		`{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`:         0,
		`{"error":{"code":400,"message":"the request exceeds the available context size (32768 tokens), try increasing it","type":"exceed_context_size_error"}}`:        32_768,
		`{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}`:                                               1_048_576,
	} {
		if got, ok := apiform.TooLong([]byte(text)); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}
	if _, ok := apiform.TooLong([]byte(`{"error":{"message":"max_tokens: 64000 > 32000, which is the maximum"}}`)); ok {
		t.Error("another error is taken for one about the window")
	}
}
