package privacy_test

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/privacy"
)

// oddTags are texts with a block whose tags are written oddly.
func oddTags() []string {
	return []string{
		"KEEP <p r i v a t e>HUSH</p r i v a t e> KEEP", "KEEP [private]HUSH[/private] KEEP", "KEEP {private}HUSH{/private} KEEP",
		"KEEP the note was " + hex.EncodeToString([]byte("<private>HUSH</private>")) + " KEEP", "KEEP <prıvate>HUSH</prıvate> KEEP", "KEEP <private HUSH</private> KEEP",
		"KEEP <рrivate>HUSH</рrivate> KEEP", "KEEP <РRІVАТЕ>HUSH</private> KEEP", "KEEP " + base64.URLEncoding.EncodeToString([]byte("<private>contract of HUSH?>?></private>")) + " as I said",
		`KEEP \u{3c}private\u{3e}HUSH\u{3c}/private\u{3e} KEEP`, "KEEP +ADw-private+AD4-HUSH+ADw-/private+AD4- KEEP", "sufakratrastith KEEP " + base64.StdEncoding.EncodeToString([]byte("# n\n<private>HUSH</private>\n")),
		`KEEP <private note="x>HUSH</private> KEEP`, "KEEP <_private>HUSH</_private> KEEP", "KEEP <private_>HUSH</private_> KEEP", "KEEP <!--private-->HUSH<!--/private--> KEEP",
		`KEEP \U0000003cprivate\U0000003eHUSH\74/private\76 KEEP`, `KEEP \3c private\3e HUSH\3c /private\3e KEEP`, "KEEP %u003Cprivate%u003EHUSH%u003C/private%u003E KEEP",
		"KEEP &#60private&#62HUSH&#60/private&#62 KEEP", `KEEP \u0026lt;private\u0026gt;HUSH\u0026lt;/private\u0026gt; KEEP`, "KEEP %26lt;private%26gt;HUSH%26lt;/private%26gt; KEEP",
		"KEEP <ᴘʀɪᴠᴀᴛᴇ>HUSH</ᴘʀɪᴠᴀᴛᴇ> KEEP", "KEEP <ρrινατε>HUSH</private> KEEP", "KEEP <pri\nvate>HUSH</private> KEEP", "KEEP <private:note>HUSH</private:note> KEEP", "KEEP <**private**>HUSH</**private**> KEEP",
		"KEEP <Ⓟⓡⓘⓥⓐⓣⓔ>HUSH</private> KEEP", "KEEP <private>HUSH</private done KEEP", "KEEP <private\x00>HUSH</private> KEEP", "KEEP &amp;amp;lt;private&amp;amp;gt;HUSH&lt;/private> KEEP",
		"KEEP \\<private\\>HUSH\\</private\\> KEEP", "KEEP =3Cprivate=3EHUSH=3C/private=3E KEEP", "KEEP ❮private❯HUSH❮/private❯ KEEP", "KEEP <private><b>HUSH</b></private> KEEP", "KEEP \\\\u003cprivate\\\\u003eHUSH\\\\u003c/private\\\\u003e KEEP",
		"KEEP &lang;private&rang;HUSH&lang;/private&rang; KEEP", "KEEP 〈private〉HUSH〈/private〉 KEEP", "KEEP < p r i v a t e >HUSH< / p r i v a t e > KEEP", "KEEP <private >HUSH", "KEEP <pri=\nvate>HUSH", "KEEP <pri=\r\nvate>HUSH", "KEEP <private a=b c>HUSH",
		"KEEP <priv\u200bate>HUSH</private>", "KEEP [PRIVATE]HUSH[/PRIVATE]", "KEEP [private note=x]HUSH[/private]", "KEEP <pri\x1b[0mvate>HUSH</private> KEEP",
	}
}

// TestOddTags: a tag is read as it would be shown, and one that is written oddly counts if
// it is closed.
func TestOddTags(t *testing.T) {
	r := privacy.Redactor{}
	for _, text := range oddTags() {
		got, _ := r.Text([]byte(text))
		if got == nil || strings.Contains(string(got), "HUSH") || !strings.Contains(string(got), "KEEP") && !strings.Contains(string(got), "as I said") {
			t.Errorf("%q gives %q", text, got)
		}
	}
	for _, text := range []string{
		"func f[Private any](p Private) {}", "printf(\"%3d private %s\", x)", "keep it private", "a </private> b", "use ``<private>`` for x and ``</private>``", "<privateer>x</privateer>",
		"re.compile(r\"<(private|public)>\")", "fn f(x: Vec<Private>) -> Option<Private> { }", "a <private /> b", "a <private/> b", "<privateKey>x</privateKey>", "[private](https://x.io)", "if a < private && b > c {", "#include <private/file.h>",
		"<!-- private --> section", "#include <private.h>", "map[private]bool", "{private: true}", "x = [private, public]", "a[private] = {private}", "<private-note>x</private-note>", "std::vector<private_t> v;", "see [private] and [public]", "<https://private.acme.io>",
		"class A { private int x; }", "{ private readonly y; }", "enum {private=1,public}", "<p class=\"private\">x</p>", "<private_key>x</private_key>",
	} {
		if got, _ := r.Text([]byte(text)); got != nil {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

// TestTagsOfTwoKinds: a block ends with the tag of its own kind, and what follows it stays.
func TestTagsOfTwoKinds(t *testing.T) {
	const text, want = "KEEP <private>HUSH [private] HUSH</private> KEEP", "KEEP [private] KEEP"
	if got, _ := (privacy.Redactor{}).Text([]byte(text)); string(got) != want {
		t.Errorf("%q gives %q, want %q", text, got, want)
	}
}

// A secret in wrapped base64 or hexadecimal digits is masked also where other text stands beside it.
func TestWrappedBlocks(t *testing.T) {
	const secret = "ghp_9fQ2mZ7xLk4TbW8cR1vN5yHd3sJ6pA0eUgKi"
	script := "#!/bin/sh\nset -e\nexport GITHUB_TOKEN=" + secret + "\nexec ./deploy --all\n"
	for _, encoded := range []string{base64.StdEncoding.EncodeToString([]byte(script)), hex.EncodeToString([]byte(script))} {
		for _, width := range []int{20, 60, 76} {
			for _, end := range []string{"\n", "\r\n"} {
				block := strings.Join(slices.Collect(func(yield func(string) bool) {
					for line := range slices.Chunk([]byte(encoded), width) {
						if !yield(string(line)) {
							return
						}
					}
				}), end)
				text, _ := privacy.Redactor{Secrets: true}.Text([]byte("Here it is:" + end + block + end + "Then run it."))
				plain := strings.Join(strings.Fields(string(text)), "")
				for _, part := range []string{secret[4:16], secret[16:28], secret[28:]} {
					for at := range 3 { // base64 of a part depends on where it begins
						probe := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", at) + part))
						if strings.Contains(plain, probe[4:len(probe)-2]) || strings.Contains(plain, hex.EncodeToString([]byte(part))) {
							t.Fatalf("width %d: %s is readable in\n%s", width, part, text)
						}
					}
				}
				if !strings.HasPrefix(string(text), "Here it is:") || !strings.HasSuffix(string(text), "Then run it.") {
					t.Errorf("the text beside it was changed:\n%s", text)
				}
			}
		}
	}
}

// TestPaddingIsKept: what a secret was cut out of is still base64, with and without padding.
func TestPaddingIsKept(t *testing.T) {
	const secret = "export GITHUB_TOKEN=ghp_q7Zt2Lx9Vb4Nc8Rw1Ks6Hd3Mf5Jg0Pa7Ye2U"
	for pad := range 3 {
		for name, encoding := range map[string]*base64.Encoding{"padded": base64.StdEncoding, "raw": base64.RawStdEncoding} {
			plain := secret + strings.Repeat("\n", pad)
			text := "it printed " + encoding.EncodeToString([]byte(plain)) + " and ended"
			got, _ := privacy.Redactor{Secrets: true}.Text([]byte(text))
			fields := strings.Fields(string(got))
			if len(fields) != 5 {
				t.Errorf("%s, %d: %q", name, pad, got)
				continue
			}
			back, err := encoding.DecodeString(fields[2])
			if want := "export GITHUB_TOKEN=[redacted: github pat]" + strings.Repeat("\n", pad); err != nil || string(back) != want {
				t.Errorf("%s, %d: %q is %q, %v", name, pad, fields[2], back, err)
			}
		}
	}
}

// TestBlockOverTexts: a block that spans texts is cut out of each of them, to the byte.
func TestBlockOverTexts(t *testing.T) {
	texts := [][]byte{[]byte("one"), []byte("two <private>HUSH"), []byte("HUSH"), []byte("HUSH</private> four")}
	want := []string{"one", "two [private]", "[private]", "[private] four"}
	for i, found := range privacy.PrivateTexts(texts) {
		if got := string(privacy.Replace(texts[i], found)); got != want[i] && !(found == nil && want[i] == string(texts[i])) {
			t.Errorf("text %d: %q, want %q", i, got, want[i])
		}
	}
}

// TestSplitBlocks: a block over several strings of JSON is cut out of each, and names of fields stay.
func TestSplitBlocks(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"a":"one <private>HUSH","b":"HUSH</private> two"}`: {"one <private>HUSH": "one [private]", "HUSH</private> two": "[private] two"},
		`{"a":"one <private>HUSH</private>","b":"two"}`:      {},
		`{"a":"one <private>HUSH","b":"HUSH</private> two"`:  {},
		`one <private>HUSH`: {},
	} {
		got := map[string]string{}
		for was, now := range privacy.SplitBlocks([]byte(text)) {
			got[was] = string(now)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
