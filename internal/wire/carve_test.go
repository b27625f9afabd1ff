package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
)

func carveAndJoin(t testing.TB, record []byte, min int) ([]byte, []Cut) {
	t.Helper()
	template, cuts := Carve(record, min)
	// The contents travel apart from the cuts, as a store keeps them.
	bare := make([]Cut, len(cuts))
	for i, c := range cuts {
		bare[i] = Cut{At: c.At, Style: c.Style}
	}
	back, err := Join(template, bare, func(i int) ([]byte, error) { return cuts[i].Content, nil })
	if err != nil || !bytes.Equal(back, record) {
		t.Fatalf("Join(Carve(x)) = %q, %v\nwant %q", back, err, record)
	}
	return template, cuts
}

func TestCarve(t *testing.T) {
	binary := bytes.Repeat([]byte("\x00\xff\x10ab?xyz~"), 20)
	b64 := base64.StdEncoding.EncodeToString(binary)
	long := strings.Repeat("line \"one\" <b>\\ é 😀\n", 4)
	stringify := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(long)
	html, _ := json.Marshal(long)
	python := strings.NewReplacer("é", `\u00e9`, "😀", `\ud83d\ude00`).Replace(stringify)
	tests := []struct {
		name, record, template, content string
	}{
		{"JSON.stringify", `{"a":"` + stringify + `"}`, `{"a":""}`, long},
		{"encoding/json", `{"a":` + string(html) + `}`, `{"a":""}`, long},
		{"Python", `["x", "` + python + `", 7]`, `["x", "", 7]`, long},
		{"PHP", `"` + strings.ReplaceAll(python, "line", `\/line\/`) + `"`, `""`, strings.ReplaceAll(long, "line", "/line/")},
		{"Jackson", `"` + stringify + `\u001B"`, `""`, long + "\x1b"},
		{"line separators", `"` + strings.Repeat("é", 20) + `\u2028"`, `""`, strings.Repeat("é", 20) + "\u2028"},
		{"base64", `{"data":"` + b64 + `"}`, `{"data":""}`, string(binary)},
		{"data URL", `{"url":"data:image/png;base64,` + b64 + `"}`, `{"url":"data:image/png;base64,"}`, string(binary)},
		{"data URL of PHP", `{"url":"data:image\/png;base64,` + strings.ReplaceAll(b64, "/", `\/`) + `"}`, `{"url":"data:image\/png;base64,"}`, string(binary)},
		{"hex stays text", `"` + strings.Repeat("0123abcd", 8) + `"`, `""`, strings.Repeat("0123abcd", 8)},
		{"not UTF-8", "\"" + strings.Repeat("a\xff", 40) + "\"", `""`, strings.Repeat("a\xff", 40)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			template, cuts := carveAndJoin(t, []byte(tt.record), 32)
			if len(cuts) != 1 || string(template) != tt.template || string(cuts[0].Content) != tt.content {
				t.Errorf("Carve = %q, %v", template, cuts)
			}
		})
	}
}

func TestCarveLeavesAlone(t *testing.T) {
	long := strings.Repeat("x", 64)
	for name, record := range map[string]string{
		"short":          `{"a":"short"}`,
		"not JSON":       `{"a":"` + long,
		"text":           long,
		"mixed spelling": `"` + long + `\u0041"`,
		"lone surrogate": `"` + long + `\ud800"`,
		"mixed slashes":  `"` + long + `/\/"`,
	} {
		if template, cuts := carveAndJoin(t, []byte(record), 32); cuts != nil || string(template) != record {
			t.Errorf("%s: %d cuts", name, len(cuts))
		}
	}
}

func TestCarveProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var record []byte
		if rapid.Bool().Draw(t, "encoded") {
			m := drawMessage(t)
			record, _ = Encode(rapid.SampledFrom([]llms.Format{llms.FormatLCM, llms.FormatLCM, llms.FormatOpenAI, llms.FormatAnthropic}).Draw(t, "format"), m)
		} else {
			for _, piece := range rapid.SliceOf(rapid.SampledFrom([]string{`"`, `\`, `\u00e9`, `\u003c`, `\/`, `/`, "<", "é", "[", "]", "{", "}", ":", ",", "aB3+", `"data:;base64,`, "aB3+aB3+", "=", " ", "\n", `\n`, "7", "\xff"})).Draw(t, "pieces") {
				record = append(record, piece...)
			}
			if rapid.Bool().Draw(t, "quoted") {
				record = append(append([]byte{'"'}, record...), '"')
			}
		}
		template, cuts := Carve(record, rapid.IntRange(0, 8).Draw(t, "min"))
		back, err := Join(template, cuts, nil)
		if err != nil || !bytes.Equal(back, record) {
			t.Fatalf("Join(Carve(%q)) = %q, %v", record, back, err)
		}
	})
}

func TestJoinErrors(t *testing.T) {
	fault := errors.New("disk")
	if _, err := Join([]byte(`""`), []Cut{{At: 1}}, func(int) ([]byte, error) { return nil, fault }); !errors.Is(err, fault) {
		t.Errorf("error = %v", err)
	}
	for _, cuts := range [][]Cut{{{At: 3}}, {{At: -1}}, {{At: 2}, {At: 1}}} {
		if _, err := Join([]byte(`""`), cuts, nil); err == nil {
			t.Errorf("cuts %v gave no error", cuts)
		}
	}
}
