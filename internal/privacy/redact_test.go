package privacy_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/proof/sample"
)

// noise looks like a random key. The keys of this file are made of it, so that none of them
// is real.
const noise = "q7Zt2Lx9Vb4Nc8Rw1Ks6Hd3Mf5Jg0Pa7Ye2Ui9Bo4Xl8Tz1Wn6Sv3Ck5Qr0Gh2Df7Lj4"

// redaction is a text and what is left of it, "" if nothing is removed.
type redaction struct{ text, want string }

func secretTexts() []redaction {
	caps := strings.ToUpper(noise)
	hexa := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	return []redaction{
		{"key sk-ant-api03-" + noise + " end", "key [redacted: api key] end"},
		{"sk-proj-" + noise, "[redacted: api key]"},
		{"sk-" + noise[:48], "[redacted: api key]"},
		{"AKIA" + caps[:16] + ", ", "[redacted: api key], "},
		{"aws_secret_access_key = " + noise[:40], "aws_secret_access_key = [redacted: secret]"},
		{"(ghp_" + noise[:36] + ")", "([redacted: github pat])"},
		{"github_pat_" + noise[:22] + "_" + noise[:59], "[redacted: github fine grained pat]"},
		{"xoxb-1234-5678-" + noise[:24], "[redacted: api key]"},
		{"https://hooks.slack.com/services/T00000000/B00000000/" + noise[:24], "[redacted: slack webhook url]"},
		{"AIza" + noise[:35], "[redacted: gcp api key]"},
		{"sk_live_" + noise[:24], "[redacted: stripe access token]"},
		{"glpat-" + noise[:20], "[redacted: gitlab pat]"},
		{"npm_" + noise[:36], "[redacted: npm access token]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + noise[:43], "[redacted: web token]"},
		{"-----BEGIN RSA PRIVATE KEY-----\n" + noise + "\n" + noise + "\n-----END RSA PRIVATE KEY-----\nrest", "[redacted: private key]\nrest"},
		{"-----BEGIN PRIVATE KEY-----\\n" + noise + "\\n-----END PRIVATE KEY-----\\n\"}", "[redacted: private key]\\n\"}"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\n" + noise, "[redacted: private key]"},
		{`phpsessid=9f3c7a1e5b2d8f60`, `phpsessid=[redacted: token]`}, // of the least length
		{`password=testQ7xZ`, `password=[redacted: password]`},        // four letters more than a filler
		{`db_password: "Kx9!mQ\"zP 4tR8w"`, `db_password: "[redacted: password]"`},
		{"postgres://app:s3cr-Xt@db.internal:5432/app", "postgres://app:[redacted: password]@db.internal:5432/app"},
		{"mongodb+srv://u:p4ssw0rdX@c0.mongodb.net", "mongodb+srv://u:[redacted: password]@c0.mongodb.net"},
		{"Authorization: Bearer " + noise[:40], "Authorization: Bearer [redacted: authorization]"},
		{`API_KEY="` + noise[:32] + `"`, `API_KEY="[redacted: secret]"`},
		{`{"client_secret":"` + noise[:32] + `"}`, `{"client_secret":"[redacted: secret]"}`},
		{`export DB_PASSWORD=Tr0ub4dor&3`, `export DB_PASSWORD=[redacted: password]`},
		{`password: "Tr0ub4dor&3xY"`, `password: "[redacted: password]"`},
		{`password: "k7q2x9"`, `password: "[redacted: password]"`},
		{`password: "k7q2x"`, ""},
		{"password: hunter22", "password: [redacted: password]"},
		{"password: hunte22", ""},
		{"token: " + hexa[:40], "token: [redacted: token]"},
		{"two ghp_" + noise[:36] + " ghp_" + noise[20:56], "two [redacted: github pat] [redacted: github pat]"},
		{"GITLAB_PAT=" + noise[:20], "GITLAB_PAT=[redacted: secret]"},
		{`"azure_pat_2": "` + noise[:20] + `"`, `"azure_pat_2": "[redacted: secret]"`},
		{`{"signature":"` + noise[:40] + `"}`, `{"signature":"[redacted: secret]"}`},

		{`{"say": "the login is admin / Tr0ub4dor&3", "id": "msg_9f8e7d6c"}`, `{"say": "the login is admin / [redacted: login pair]", "id": "msg_9f8e7d6c"}`},

		// The same in JSON inside strings of JSON, whatever stands beside it.
		{`{"role":"user","content":"{\"user\":\"x\",\"password\":\"qsSNwkIX8qyMVd\"}"}`, `{"role":"user","content":"{\"user\":\"x\",\"password\":\"[redacted: password]\"}"}`},
		{`{"password":"a\"b7Kx9!q","n":1}`, `{"password":"[redacted: password]","n":1}`},
		{`[{"name":"API_KEY","value":"` + noise[:20] + `"},{"name":"HOME","value":"/home/ada"}]`, `[{"name":"API_KEY","value":"[redacted: secret]"},{"name":"HOME","value":"/home/ada"}]`},
		{`["--password","Tr0ub4dor&3","--verbose"]`, `["--password","[redacted: command line password]","--verbose"]`},
		{`{"e":"AQAB","kty":"RSA","n":"` + noise + `","d":"` + noise[:40] + `"}`, `{"e":"AQAB","kty":"RSA","n":"` + noise + `","d":"[redacted: web key]"}`},
		{"send " + b64("password: Tr0ub4dor&3xY, keep it") + " on", "send " + b64("password: [redacted: password], keep it") + " on"},

		// Wide signs, sentences in other languages, and what covers a key.
		{"password：" + noise[:12], "password：[redacted: said password]"},
		{"パスワード：" + noise[:12], "パスワード：[redacted: password]"},
		{"密码是" + noise[:12] + "，", "密码是[redacted: said password without blanks]，"},
		{"Das Passwort lautet: " + noise[:12], "Das Passwort lautet: [redacted: said password]"},
		{"gh\u200bp_" + noise[:36] + " ok", "[redacted: github pat] ok"},
		{"ghp%5F" + noise[:36] + " ok", "[redacted: github pat] ok"},
		{"__hf_" + noise[:34] + "__", "__[redacted: api key]__"},
		{"rm dump_sk_live_" + noise[:24] + ".json", "rm dump_[redacted: api key].json"},
		{"neo4j+s://neo4j:" + noise[:12] + "@db", "neo4j+s://neo4j:[redacted: password]@db"},

		// Containers that make secrets of values with any name.
		{"kind: Secret\nmetadata:\n  name: app-config\ndata:\n  one: " + b64("any thing") + "\n  two: \"" + b64("another") + "\"\ntype: Opaque\n",
			"kind: Secret\nmetadata:\n  name: app-config\ndata:\n  one: [redacted: kubernetes secret]\n  two: \"[redacted: kubernetes secret]\"\ntype: Opaque\n"},
		{`{"data":{"one":"` + b64("any thing") + `"},"kind":"Secret","metadata":{"name":"app"}}`, `{"data":{"one":"[redacted: kubernetes secret]"},"kind":"Secret","metadata":{"name":"app"}}`},
		{`{"type":"random_password","instances":[{"attributes":{"id":"none","result":"tulip-horse"}}]}`, `{"type":"random_password","instances":[{"attributes":{"id":"none","result":"[redacted: password]"}}]}`},
		{"$ cat a.tfstate\n{\n  \"type\": \"random_password\",\n  \"instances\": [\n    {\n      \"attributes\": {\n        \"id\": \"none\",\n        \"result\": \"tulip-horse\",\n",
			"$ cat a.tfstate\n{\n  \"type\": \"random_password\",\n  \"instances\": [\n    {\n      \"attributes\": {\n        \"id\": \"none\",\n        \"result\": \"[redacted: random password]\",\n"},
		{`the passphrase of my ssh key is "copper window marble seventeen", keep it`, `the passphrase of my ssh key is "[redacted: quoted passphrase]", keep it`},
		{`export RESTIC_PASSWORD="copper window marble seventeen"`, `export RESTIC_PASSWORD="[redacted: quoted passphrase]"`},
		{`the passphrase is asked for twice, see "the manual of the tool"`, ""},
		{`placeholder="the passphrase of the key" title="four words or more"`, ""},
		{`log MNEMONIC=\"legal winner thank year wave sausage worth useful legal winner thank yellow\" end`, `log MNEMONIC=\"[redacted: seed phrase]\" end`},
		{`["mysql","-uroot","-pdragon42","app"]`, `["mysql","-uroot","-p[redacted: password]","app"]`},
		{"kind: Secret\nstringData:\n  a: |\n    line one\n\n    line two\n  b: {{ x }}\n  c: abc\n  d: plum\n---\nkind: ConfigMap\ndata:\n  one: plain\n",
			"kind: Secret\nstringData:\n  a: |\n    [redacted: kubernetes secret]\n  b: {{ x }}\n  c: abc\n  d: [redacted: kubernetes secret]\n---\nkind: ConfigMap\ndata:\n  one: plain\n"},
		{"kind: ConfigMap\ndata:\n  one: " + b64("any thing") + "\n", ""},
		{`{"data":{"one":"` + b64("any thing") + `"},"kind":"ConfigMap"}`, ""},
		{`{"type":"random_pet","instances":[{"attributes":{"result":"tulip-horse"}}]}`, ""},
		{`["mysql","-uroot","-port","3306"]`, ""},
		{"a%20path/with%2Dan%5Fescape/of_its-own.txt", ""},

		// A label in one string of JSON does not mask the value of another field.
		{`{"role": "user", "content": "See the login section.", "id": "msg_9f8e7d6c"}`, ""},
		{`{"content":"it has credentials here","id":"msg_9f8e7d6c","n":1}`, ""},
		{`{"content": "the username", "uuid": "x", "id": "msg_9f8e7d6c"}`, ""},
		{"sha256:" + hexa, ""},
		{`{"type":"thinking","thinking":"x","signature":"EqQBCkgIARABGAIiQL2UoU0b1OHYi+yCHpBY7U6FQW8/FcoLewocJQPa2HnmLM+NECy50y44F/kD4SULFXi57buI9fAvyBwtyjlOiO0SDE3+r3spdg6PLOo9PBoM="}`, ""},
		{`{"agent_path":"550e8400-e29b-41d4-a716-446655440000"}`, ""},
		{`{"file_pattern":"` + noise[:20] + `"}`, ""},
		{"commit " + hexa[:40], ""},
		{"id: 550e8400-e29b-41d4-a716-446655440000, token: 550e8400-e29b-41d4-a716-446655440000", ""},
		{"sk-learn and sk-image and task-sk-1", ""},
		{"export ANTHROPIC_API_KEY=sk-ant-...", ""},
		{"API_KEY=your-api-key-goes-here-12345", ""},
		{"api_key = os.environ['OPENAI_API_KEY']", ""},
		{"password = getpass.getpass()", ""},
		{"token = response.json()[\"access_token\"]", ""},
		{"secret: ${{ secrets.GITHUB_TOKEN }}", ""},
		{"postgres://postgres:postgres@localhost/db", ""},
		{"postgres://user:password@host/db", ""},
		{"https://user@example.org/path:with@sign", ""},
		{"http://localhost:8080/a@b", ""},
		{"max_tokens: 4096, input_tokens: 123456789012345678", ""},
		{"-----BEGIN PUBLIC KEY-----\n" + noise + "\n-----END PUBLIC KEY-----", ""},
		{`const begin = "-----BEGIN PRIVATE KEY-----"`, ""},
		{"the bearer of this letter is well known here", ""},
		{"AKIAIOSFODNN7EXAMPLE1234 is too long", ""},
		{"eyJ.eyJ.eyJ", ""},
		{"hash every password with argon2id before Friday", ""},
		{"the password check uses PBKDF2-HMAC-SHA256 and OAuth2Client", ""},
		{"API key path: https://github.com/acme/tool/commit/1fe2ebbb5d1f458f7013aec5c61e31ae2b52e619", ""},
		{"github.com/aws/credentials v1.17.27 h1:2raNba6gr2IfA0eqqiP2XiQ0UVOpGPgDSi0I9iAP+UI=", ""},
		{`{"session_id":"msg_01XFDUDYJgAACzvnptvVoYEL"}`, ""},
		{"session: /home/ann/.claude/projects/-x7Qp2Lk9/Zr4TgB8mW1sVdYcH6n.jsonl", ""},
		// Escapes, wide letters and colours hide nothing.
		{`a \u0067h\u0070_` + noise[:36] + " b", "a [redacted: github pat] b"},
		{`a \x67\x68p_` + noise[:36] + " b", "a [redacted: github pat] b"},
		{"a &#103;&#x68;p_" + noise[:36] + " b", "a [redacted: github pat] b"},
		{"a ｇｈｐ＿" + noise[:36] + " b", "a [redacted: github pat] b"},
		{"a \x1b[1mghp_\x1b[0m" + noise[:36] + " b", "a \x1b[1m[redacted: github pat] b"},

		// The signature of a thinking block stays, whatever it looks like.
		{`{"type":"thinking","signature":"Ep` + noise + noise[:40] + "/AKIA" + caps[:16] + `"}`, ""},

		{`{"type":"thinking","signature":"Ap` + noise + noise[:40] + `"}`, `{"type":"thinking","signature":"[redacted: secret]"}`},

		// What a container makes a secret of is in that container.
		{`{"kty":"RSA","of":{"d":"` + noise[:40] + `"}}`, ""},
		{`{"sensitive":true,"of":{"value":"tulip-horse"}}`, ""},
		{`{"sensitive":true,"value":"tulip-horse"}`, `{"sensitive":true,"value":"[redacted: sensitive output]"}`},
		{`SECRET_KEY = "Check(the.Manual),then[Ask]+Your/Admin|For;Help:Now"`, ""}, // no digits
		{"send " + b64("\xfe\xff\x00p\x00a\x00s\x00s\x00w\x00o\x00r\x00d\x00=\x00T\x00r\x000\x00u\x00b\x004\x00d\x00o\x00r\x00&\x003"), "send " + b64("\xfe\xff\x00p\x00a\x00s\x00s\x00w\x00o\x00r\x00d\x00="+strings.ReplaceAll("[redacted: password]", "", "\x00")[:40])},

		// A mark is no hint at what stands beside it.
		{"the secret:\n" + noise[:32] + "\n" + noise[20:52] + "\n\n" + noise[8:44], "the secret:\n[redacted: secret]\n[redacted: secret]\n\n" + noise[8:44]},
		{"password: " + noise[:20] + "\nend of it, and a build\n" + hexa[:40] + "\nok", "password: [redacted: password]\nend of it, and a build\n" + hexa[:40] + "\nok"},
		{"| option | password | host |\n|---|---|---|\n| --pw | the password of the user | localhost |", ""},
		{"", ""},
	}
}

func TestSecrets(t *testing.T) {
	for _, c := range secretTexts() {
		got, n := privacy.Redactor{Secrets: true}.Text([]byte(c.text))
		want := c.want
		if want == c.text {
			want = ""
		}
		if string(got) != want {
			t.Errorf("%q\n gives %q\n want %q", c.text, got, want)
		}
		if (got != nil) != (n.Secrets > 0) {
			t.Errorf("%q: %d counted", c.text, n.Secrets)
		}
		if again, _ := (privacy.Redactor{Secrets: true}).Text(got); again != nil {
			t.Errorf("redacting %q twice gives %q", got, again)
		}
	}
}

func privateTexts() []redaction {
	return []redaction{
		{"a <private>b</private> c", "a [private] c"},
		{"<private>all of it", "[private]"},
		{"it is " + b64("<private>") + " here", "it is " + b64("[private]") + " here"}, // the shortest that is decoded
		{"a <PRIVATE>b</Private > c", "a [private] c"},
		{"a <private>b <private>c</private> d</private> e", "a [private] e"},
		{"a <private>b</private><private>c</private>", "a [private][private]"},
		{"a </private> b", ""},
		{"write `<private>` around it", ""},
		{"write `` <private> `` around it, or \\`<private>\\`", ""},
		{"see `lcm <private> here` for more", ""},
		{"write `<private>…</private>` or <private>...</private>", ""},
		{"my key is `<private>b</private>` c", "my key is `[private]` c"},
		{"`run <private> b` and c</private> d", "`run [private] d"},
		{"`a`\n<private>b `c` d", "`a`\n[private]"},
		{"<private-note> <privateer>", ""},
		{"<private", ""},
		{`{"a":"<private>x","b":1}`, `{"a":"[private]","b":1}`},
		{`{"a":"\u003cprivate\u003ex\u003c/private\u003e y"}`, `{"a":"[private] y"}`},
		{`<private\040a=1>x</private>y`, "[private]y"},
		{`{"a":"\u003c\u0070rivate>x"}`, `{"a":"[private]"}`},
		{`{"a":"{\"b\":\"<private>x\",\"c\":2}"}`, `{"a":"{\"b\":\"[private]\",\"c\":2}"}`},
		{`{"a": "kept \u00e9", "b":"<private>x</private>é"}`, `{"a": "kept \u00e9", "b":"[private]é"}`},
		{`{"d":"data:text/plain;base64,` + b64("before <private>x</private> and some text that is long enough") + `"}`,
			`{"d":"data:text/plain;base64,` + b64("before [private] and some text that is long enough") + `"}`},
	}
}

func TestPrivate(t *testing.T) {
	for _, c := range privateTexts() {
		got, n := privacy.Redactor{}.Text([]byte(c.text))
		if string(got) != c.want {
			t.Errorf("%q\n gives %q\n want %q", c.text, got, c.want)
		}
		if (got != nil) != (n.Private > 0) {
			t.Errorf("%q: %d counted", c.text, n.Private)
		}
	}
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// TestTheSampleHasNoSecrets: the bundled session talks about keys, tokens and
// hashes all the time, and holds none.
func TestTheSampleHasNoSecrets(t *testing.T) {
	all := sample.Messages()
	bytesRead := 0
	for i, m := range all {
		bytesRead += len(m.Raw.Bytes)
		if got, n := (privacy.Redactor{Secrets: true}).Text(m.Raw.Bytes); got != nil {
			at := 0
			for at < min(len(got), len(m.Raw.Bytes))-1 && got[at] == m.Raw.Bytes[at] {
				at++
			}
			t.Errorf("message %d: %+v: %.200q", i, n, got[max(0, at-80):])
		}
	}
	t.Logf("%d messages, %d bytes", len(all), bytesRead)
}

func TestStrings(t *testing.T) {
	var all []string
	privacy.Strings([]byte(`{"a":"b\u0041","c":["{\"d\":\"e\"}",1]}`), func(text []byte) { all = append(all, string(text)) })
	if got, want := fmt.Sprintf("%q", all), `["a" "bA" "c" "d" "e" "{\"d\":\"e\"}"]`; got != want {
		t.Errorf("strings: %s, want %s", got, want)
	}
}

// TestTimeIsLinear: texts that begin like a secret at every character.
func TestTimeIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second")
	}
	for _, unit := range []string{
		"sk-ant-", "eyJ", "eyJ-", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY----------END ", "token=", "token:", "a://a:a", "bearer ",
		"<private>", "<private \"", "<private a='b ", "<", "{", "[\"", "\\\"", "password=a", "SG.", "=", "::::", "hooks.slack.com/services/",
		"curl -u a:", "login user: ", "basic QWxhZGRpbjpvcGVu", "password is ", "token,\n", "key ", "hooks/", " -p x", "[private]", "[private][/private]", "[[private", "<p r i ", "&amp;", "%25", "+ADw-",
	} {
		took := func(size int) time.Duration {
			text := []byte(strings.Repeat(unit, size/len(unit)))
			before := harness.CPUTime()
			privacy.Redactor{Secrets: true}.Text(text)
			return harness.CPUTime() - before
		}
		// Four times as much takes four times as long; what is quadratic takes sixteen.
		if long := took(1 << 16); long > time.Second/16 {
			if short := took(1 << 14); long > 8*short {
				t.Errorf("%q: 16 kB take %s of processor time, 64 kB %s", unit, short, long)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{
		`{"a":"<private>x"}`, "sk-" + noise, `{"k":"{\"api_key\":\"` + noise + `\"}"}`, "-----BEGIN PRIVATE KEY-----\n" + noise,
		`"\ud800<private>"`, "postgres://a:b1C2d3E4@h", "<private><private></private>", `{"x":"` + b64(strings.Repeat("<private>", 9)) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := privacy.Redactor{Secrets: true}
		got, n := r.Text(text)
		if got == nil {
			return
		}
		if n.Secrets+n.Private == 0 {
			t.Errorf("%q changed, and nothing was counted", text)
		}
		if json.Valid(text) && !json.Valid(got) {
			t.Errorf("%q is no JSON any more: %q", text, got)
		}
		if bytes.Equal(got, text) {
			t.Errorf("%q was not changed", text)
		}
		if again, _ := r.Text(got); again != nil {
			t.Errorf("%q gives %q, in which more is found: %q", text, got, again)
		}
		for _, found := range [][]privacy.Finding{privacy.Secrets(text), privacy.Private(text)} {
			last := 0
			for _, f := range found {
				if f.Start < last || f.End <= f.Start || f.End > len(text) {
					t.Fatalf("%q: %+v", text, found)
				}
				last = f.End
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	all := sample.Messages()
	for _, secrets := range []bool{false, true} {
		b.Run(fmt.Sprintf("secrets=%v", secrets), func(b *testing.B) {
			for b.Loop() {
				size := 0
				for _, m := range all {
					privacy.Redactor{Secrets: secrets}.Text(m.Raw.Bytes)
					size += len(m.Raw.Bytes)
				}
				b.SetBytes(int64(size))
			}
		})
	}
}

func ExampleRedactor() {
	text := []byte(`{"content":"the password of <private>my account</private> is in https://ada:x7Kq2Lm9@example.com"}`)
	out, n := privacy.Redactor{Secrets: true}.Text(text)
	fmt.Println(string(out))
	fmt.Println(n.Private, "private,", n.Secrets, "secret")
	// Output:
	// {"content":"the password of [private] is in https://ada:[redacted: password]@example.com"}
	// 1 private, 1 secret
}
