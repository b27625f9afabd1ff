package safetext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/safetext"
)

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":                    {"main.go", "main.go"},
		"letters of all kinds":     {"Zoë 日本語 עברית हिन्दी e\u0301", "Zoë 日本語 עברית हिन्दी e\u0301"},
		"emoji":                    {"🦉", "🦉"},
		"line breaks and tabs":     {"a\nb\tc\r\nd", "a b c d"},
		"escape sequence":          {"\x1b[31mred", `\x1b[31mred`},
		"C1 control":               {"\u009b2J", `\u009b2J`},
		"carriage return":          {"safe\revil", `safe\x0devil`},
		"NUL, DEL":                 {"\x00\x7f", `\x00\x7f`},
		"not UTF-8":                {"a\xffb", `a\xffb`},
		"override":                 {"\u202egpj.exe", `\u202egpj.exe`},
		"isolates":                 {"\u2066a\u2069", `\u2066a\u2069`},
		"left-to-right mark":       {"a\u200eb", `a\u200eb`},
		"Arabic letter mark":       {"a\u061cb", `a\u061cb`},
		"Braille blank":            {"\u2800", `\u2800`},
		"Hangul filler":            {"\u3164", `\u3164`},
		"Hangul choseong filler":   {"\u115f", `\u115f`},
		"Hangul jungseong filler":  {"\u1160", `\u1160`},
		"halfwidth Hangul filler":  {"\uffa0", `\uffa0`},
		"Khmer inherent vowel":     {"\u17b4\u17b5", `\u17b4\u17b5`},
		"Mongolian separator":      {"\u180e", `\u180e`},
		"no-break space":           {"a\u00a0b", "a b"},
		"ideographic space":        {"a\u3000b", "a b"},
		"em and hair space":        {"a\u2003b\u200ac", "a b c"},
		"Ogham space":              {"a\u1680b", "a b"},
		"line separator":           {"a\u2028b\u2029c", "a b c"},
		"next line":                {"a\u0085b", `a\u0085b`},
		"variation selector 1":     {"a\ufe00b", "ab"},
		"variation selector 16":    {"❤\ufe0f", "❤"},
		"variation selector 256":   {"a\U000e01efb", "ab"},
		"Mongolian selector":       {"a\u180bb", "ab"},
		"zero width space":         {"a\u200bb", "ab"},
		"joiner, non-joiner":       {"a\u200d\u200cb", "ab"},
		"word joiner":              {"a\u2060b", "ab"},
		"byte order mark":          {"\ufeffa", "a"},
		"soft hyphen":              {"a\u00adb", "ab"},
		"invisible times":          {"a\u2062b", "ab"},
		"combining joiner":         {"a\u034fb", "ab"},
		"interlinear annotation":   {"a\ufff9b\ufffb", "ab"},
		"tags":                     {"a\U000e0001\U000e0069\U000e007f", "a"},
		"a default ignorable":      {"a\U000e0fffb", "ab"},
		"a noncharacter":           {"a\ufdd0\uffff\U0010fffeb", "ab"},
		"the replacement itself":   {"a\ufffdb", "a\ufffdb"},
		"what looks like a escape": {`\u2800`, `\u2800`},
	} {
		if got := safetext.Line(c.text); got != c.want {
			t.Errorf("%s: %q is shown as %q, want %q", name, c.text, got, c.want)
		}
		if safetext.Same(c.text) != (c.text == c.want) {
			t.Errorf("%s: Same(%q) is %v", name, c.text, safetext.Same(c.text))
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":      "plain\ttext\n",
		"a\n\tb\u2800\r\nc":  "a\n\tb\\u2800\nc",
		"\x1b[31mred\x1b[0m": `\x1b[31mred\x1b[0m`,
		"\x1b]0;title\a":     `\x1b]0;title\x07`,
		"a\r\nb\rc":          "a\nb\\x0dc",
		"caf\xe9":            `caf\xe9`,
		"\u009b31m":          `\u009b31m`,
		"abc\u202edef":       `abc\u202edef`,
		"日本 ✓ �":             "日本 ✓ �",
	} {
		if got := safetext.Text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// Whatever two bytes follow each other, a terminal has nothing to act upon.
func TestTextOfAnyBytes(t *testing.T) {
	for i := range 1 << 16 {
		text := string([]byte{byte(i >> 8), byte(i)})
		for _, r := range safetext.Text(text) {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q is shown with %q", text, r)
			}
		}
	}
}

// Every shown character is visible or a plain space, and showing it again changes nothing.
// Escapes have four digits, as in JSON.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		got := safetext.Line("a" + string(r) + "b")
		if strings.ContainsFunc(got, func(r rune) bool {
			return r != ' ' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Z, unicode.Bidi_Control, unicode.Variation_Selector))
		}) || !safetext.Same(got) {
			t.Fatalf("%U is shown as %q", r, got)
		}
		if safetext.Escaped(r) && r > 0xffff {
			t.Fatalf("%U needs more than four digits", r)
		}
	}
}
