package transfer

import (
	"slices"
	"strings"
)

// table is a table of the record. Both backends have the same columns.
type table struct {
	name    string
	columns []string
	order   string   // columns that order the rows
	bools   []string // columns that one backend stores as numbers
}

func newTable(name, columns, order string, bools ...string) table {
	return table{name, strings.Fields(columns), order, bools}
}

// bulk are the tables whose rows are added and hardly ever changed. They are copied in
// steps, by the number in the first column.
var (
	messages = newTable("messages", "id conversation seq role flags stored said tokens native format size sha256 chain record cuts body", "id")
	payloads = newTable("payloads", "num id sha256 size mime name path kind summary tokens created_at", "num")
	chunks   = newTable("chunks", "payload n compressed data", "payload, n", "compressed")
)

// rest are the other tables. They are copied in the last step, all at once.
var rest = []table{
	newTable("projects", "id origin root", "id"),
	newTable("conversations", `id key segment agent project title parent forked_from forked_at inherited created_at updated_at archived_at archive_cause
		messages summaries tokens bytes head base view_items view_tokens last_user erased_at erased seal`, "id"),
	newTable("summaries", `num id conversation kind depth pos body tokens source_tokens descendants messages message_tokens earliest latest files
		level method model tokens_in tokens_out created_at revision retired seal`, "num", "retired"),
	newTable("edges", "summary ord message source", "summary, ord"),
	newTable("revisions", "summary revision body tokens level method model tokens_in tokens_out replaced_at seal", "summary, revision"),
	newTable("view", "conversation pos message summary tokens role depth stub links", "conversation, pos", "stub"),
	newTable("branches", "id conversation after cause created_at", "id"),
	newTable("branch_items", "branch pos message summary", "branch, pos"),
	newTable("message_payloads", "message payload", "message, payload"),
	newTable("erasures", "id cause created_at messages bytes finished", "id", "finished"),
	newTable("forgotten", "key erasure messages through", "key, erasure"),
	newTable("tombstones", "hash erasure n", "hash, erasure"),
	newTable("tombstone_salt", "salt", "rowid"),
	newTable("seals", "name entries digest", "name"),
	newTable("vectors", "model text message vector", "model, text"),
	newTable("vector_blocks", "model block through vectors data", "model, block"),
	newTable("state", "space key version expires data", "space, key"),
}

func (t table) selects(where string) string {
	return "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + " WHERE " + where + " ORDER BY " + t.order
}

func (t table) inserts() string {
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
}

func (t table) isBool(column int) bool { return slices.Contains(t.bools, t.columns[column]) }

// Columns lists the columns that are copied, as table.column.
func Columns() (all []string) {
	for _, t := range append([]table{messages, payloads, chunks}, rest...) {
		for _, c := range t.columns {
			all = append(all, t.name+"."+c)
		}
	}
	return all
}
