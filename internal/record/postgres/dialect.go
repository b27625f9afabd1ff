package postgres

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// dialect is the SQL of PostgreSQL. A transaction locks the row of the conversation that
// it changes, so that writers of one conversation wait for each other, in the order in
// which they came, and writers of different ones do not.
var dialect = sqldb.Dialect{
	ForUpdate:        " FOR UPDATE OF c",
	ForShare:         " FOR KEY SHARE OF p",
	ForUnchanged:     " FOR SHARE OF m",
	LockName:         "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ?, 0))",
	Greatest:         "greatest",
	NextConversation: "nextval('conversations_id_seq')",
	NextMessage:      "nextval('messages_id_seq')",
	NextMessages:     "SELECT nextval('messages_id_seq') FROM generate_series(1, ?::bigint)",
	AfterCopy: []string{
		continueAfter("projects", "id"), continueAfter("conversations", "id"), continueAfter("messages", "id"), continueAfter("summaries", "num"),
		continueAfter("branches", "id"), continueAfter("payloads", "num"), continueAfter("erasures", "id"), continueAfter("map_runs", "id"),
	},
}

// continueAfter sets the sequence of a column to its highest value.
func continueAfter(table, column string) string {
	return "SELECT setval('" + table + "_" + column + "_seq', max(" + column + ")) FROM " + table + " HAVING count(*) > 0"
}

var spellings = strings.NewReplacer(
	"json_each(?) j", "unnest(?::bigint[]) WITH ORDINALITY AS j (value, rowid)",
	"json_each(?) t", "unnest(?::text[]) AS t (value)",
	"temp.", "pg_temp.",
	"INTEGER PRIMARY KEY", "bigint PRIMARY KEY",
)

// statements caches the translation of statements. There are few hundred of them.
var statements sync.Map

// translate spells a statement of package sqldb for PostgreSQL: parameters become $1.
func translate(sql string) string {
	if done, ok := statements.Load(sql); ok {
		return done.(string)
	}
	parts := strings.Split(spellings.Replace(sql), "?")
	var b strings.Builder
	b.WriteString(parts[0])
	for i, part := range parts[1:] {
		b.WriteByte('$')
		if part == "" || part[0] < '0' || part[0] > '9' {
			b.WriteString(strconv.Itoa(i + 1))
		}
		b.WriteString(part)
	}
	statements.Store(sql, b.String())
	return b.String()
}

// PostgreSQL stores neither NUL nor invalid UTF-8 in text, and lcm stores whatever it is
// given. Each such byte becomes a character of a private range, and so do the bytes of
// characters that are in that range themselves.
const (
	escapes     = 0x10FE00 // of the byte 0; those of the other bytes follow
	escapeStart = "\xf4\x8f\xb8"
	escapeLast  = "\xf4\x8f\xbb"
)

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !hasEscapes(s)
}

func hasEscapes(s string) bool {
	for rest := s; ; rest = rest[1:] {
		i := strings.IndexByte(rest, 0xf4)
		if i < 0 {
			return false
		}
		if rest = rest[i:]; len(rest) >= 3 && rest[:3] >= escapeStart && rest[:3] <= escapeLast {
			return true
		}
	}
}

// escape returns a text that PostgreSQL can store.
func escape(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || r == 0 || r >= escapes && r < escapes+256 {
			for _, c := range []byte(s[:n]) {
				b.WriteRune(escapes + rune(c))
			}
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// unescape is the inverse of escape.
func unescape(s string) string {
	if !hasEscapes(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r >= escapes && r < escapes+256 {
			b.WriteByte(byte(r - escapes))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
