package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
)

// work is a session in which the output of a call names what nobody says.
func work(planted string) []Source {
	call := llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "1", Name: "read", Arguments: `{"file_path":"ledger/postings.go","limit":200}`}}
	out := llms.Part{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "1", Output: []llms.Part{{Kind: llms.PartText,
		Text: strings.Repeat("a long line of a file that says little\n", 60) + planted + "\nfunc closeBooks() {}\nvar rate_table, vatKey, feeV2 = 1, 2, 3\n"}}}}
	return []Source{
		{Seq: 1, Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Text: "Why do the books not close?"}}, Text: "Why do the books not close?"},
		{Seq: 2, Role: llms.RoleAssistant, Parts: []llms.Part{call}, Text: `→ read({"file_path":"ledger/postings.go","limit":200})`},
		{Seq: 3, Role: llms.RoleTool, Parts: []llms.Part{out}, Text: "← read: " + out.Result.Output[0].Text},
		{Seq: 4, Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartText, Text: "A rate is missing."}}, Text: "A rate is missing."},
	}
}

func summarised(t *testing.T, r Request) (body, footer string) {
	t.Helper()
	got, err := NewExtractive().Summarise(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndexByte(got.Text, '\n') + 1
	return got.Text[:at], got.Text[at:]
}

// TestFooterNamesWhatTheBodyLacks plants an identifier in an output that no note quotes. The leaf
// names it, and so does the summary above it, whose sources have it in a footer only.
func TestFooterNamesWhatTheBodyLacks(t *testing.T) {
	for _, planted := range []string{"LEDGER-4471", "settleInvoice", "ledger_epoch", "v3.14.2-rc1", "store/sqlite/fold.go:118", "https://ci.example.com/runs/8841", "ops@example.org", "--no-settle"} {
		body, footer := summarised(t, Request{Kind: Leaf, Sources: work(planted)})
		if strings.Contains(body, planted) || !strings.Contains(footer, planted+", ") {
			t.Errorf("%s: the leaf is\n%s%s", planted, body, footer)
		}
		leaf := Source{Kind: Leaf, Seq: 1, Text: body + footer}
		other := Source{Kind: Leaf, Seq: 5, Text: "user#5: " + strings.Repeat("Close them again, and tell me what it says. ", 60) + "\n" + Footer + "the exact words of #5–#9"}
		body, footer = summarised(t, Request{Kind: Condensed, Depth: 1, Sources: []Source{leaf, other}})
		if strings.Contains(body, planted) || !strings.Contains(footer, planted+", ") || !strings.HasSuffix(footer, "the exact words of #1–#9") {
			t.Errorf("%s: the condensed summary is\n%s%s", planted, body, footer)
		}
		if strings.Contains(footer, "file_path") {
			t.Errorf("an argument's name is listed: %s", footer)
		}
	}
}

// What a deep summary drops of its sources' bodies stands in its footer, the words of people first.
func TestFooterHasTheBestFirst(t *testing.T) {
	said := "user#1: Never touch sluice_limit.\nassistant#2: I raised PumpRate.\n"
	said += "ran#3: go test → ok pier_gauge.go\n"
	for n := range 80 {
		said += fmt.Sprintf("user#%d: And now look at all of the %d other pumps, one by one, please, and tell me which of them are old.\n", n+4, n)
	}
	body, footer := summarised(t, Request{Kind: Condensed, Depth: 12, Sources: []Source{{Kind: Leaf, Seq: 1, Text: said + Footer + "old_pump, the exact words of #1–#83"}}})
	at := -1
	for _, want := range []string{"“", "sluice_limit", "PumpRate", "old_pump", "pier_gauge.go"} {
		next := strings.Index(footer, want)
		if next < at || next < 0 && !strings.Contains(body, want) {
			t.Errorf("%q is not in its place in\n%s%s", want, body, footer)
		}
		at = max(at, next)
	}
}

// A name is one line without markup, and says something.
func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"Task\" >\n<parameter name=\"x1_limit\">":                     "x1_limit",
		"The `settle` step of /srv/exports/catalogue.csv.":            "settle /srv/exports/catalogue.csv",
		"It took 250ms at 2026-01-13T20:36:45Z, and/or 40s":           "",
		"{CommitHash:2db227d Msg:fmt}":                                "",
		"参数是max_connections。":                                         "max_connections",
		"f3eaef406bace3c161125b710fd6040356cdc8c3":                    "",
		"/home/ann/work/a-rather-long-name/of/a/ledger/open_items.go": "ledger/open_items.go",
		"e.g. this, i.e. that ... etc.":                               "",
	} {
		c := cuesOf([]Source{{Seq: 1, Role: llms.RoleUser, Text: text}}, []notes.Line{{Kind: notes.User, Seq: 1, Text: text}})
		if got := strings.Join(c.names, " "); got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
}

func TestFooterIsShort(t *testing.T) {
	var text strings.Builder
	for n := range 400 {
		fmt.Fprintf(&text, "The pump_number_%d was opened and is to be closed again by the others later. ", n)
	}
	body, footer := summarised(t, Request{Kind: Leaf, Sources: []Source{{Seq: 1, Role: llms.RoleUser, Text: text.String()}}})
	if most := len(body) * 12 / 100; len(footer) > most || strings.Count(footer, ", ") < enough {
		t.Errorf("%d bytes under %d:\n%s", len(footer), len(body), footer)
	}
}
