package apiform

import (
	"bytes"
	"strconv"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// windowNumber finds the size of the window in an error of an API: "200251 tokens > 200000
// maximum" of Anthropic, "maximum context length is 8192 tokens" of OpenAI and those that
// speak like it, "available context size (4096 tokens)" of llama.cpp, and "maximum number
// of tokens allowed (1048576)" of Google.
var windowNumber = lazyregexp.New(`(?:\d (?:tokens )?(?:>|\\u003e) |maximum context length (?:is|of) |available context size \(|number of tokens allowed \()([0-9]{4,8})\b`)

// tooLong are texts of errors which say that a request does not fit the model's window.
var tooLong = []string{"prompt is too long", "context_length_exceeded", "exceed context limit", "maximum context length", "available context size", "maximum number of tokens allowed"}

// TooLong reports whether an error of an API says that a request does not fit the model's
// window, and the size of the window if it names it, else 0.
func TooLong(text []byte) (window int, is bool) {
	for _, part := range tooLong {
		is = is || bytes.Contains(text, []byte(part))
	}
	if !is {
		return 0, false
	}
	if m := windowNumber().FindSubmatch(text); m != nil {
		window, _ = strconv.Atoi(string(m[1])) // eight digits at most
	}
	return window, true
}
