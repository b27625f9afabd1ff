package openclaw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// counterparts are the settings of lossless-claw that lcm has too, in the order in which they
// are told.
var counterparts = [][2]string{
	{"contextThreshold", "context.context_threshold"},
	{"freshTailCount", "context.fresh_tail_count"},
	{"maxAssemblyTokenBudget", "context.token_budget"},
	{"largeFileThresholdTokens", "ingest.large_file_token_threshold"},
	{"largeFileTokenThreshold", "ingest.large_file_token_threshold"},
	{"leafChunkTokens", "compaction.leaf_chunk_tokens"},
	{"summaryModel", "summary.model"},
	{"summaryProvider", "summary.provider"},
	{"summaryTimeoutMs", "summary.timeout_ms"},
	{"summaryMaxCallsPerWindow", "summary.max_calls_per_window"},
	{"customInstructions", "summary.custom_instructions"},
	{"expansionModel", "recall.expansion_model"},
	{"maxExpandTokens", "recall.max_expand_tokens"},
	{"delegationTimeoutMs", "recall.delegation_timeout_ms"},
}

// Advice implements [setup.Advising]: what to take over from lossless-claw, if that is there.
func (Host) Advice(dir string) (notes []string) {
	var its map[string]json.RawMessage
	if src, err := os.ReadFile(filepath.Join(dir, "openclaw.json")); err == nil {
		if d, err := edit.ParseJSON(src); err == nil { // setup tells of one that cannot be parsed
			_ = json.Unmarshal(d.Get("plugins", "entries", "lossless-claw", "config"), &its) // what is no object has no settings
		}
	}
	database := cmp.Or(text(its["dbPath"]), text(its["databasePath"]), filepath.Join(dir, "lcm.db"))
	if _, err := os.Stat(database); err == nil {
		notes = append(notes, "the messages and summaries of lossless-claw come in with `lcm import "+setup.ShellWord(database)+"`, best before `lcm import openclaw`")
	}
	told := map[string]bool{}
	for _, pair := range counterparts {
		value := cmp.Or(text(its[pair[0]]), string(its[pair[0]]))
		if provider, model, ok := strings.Cut(value, "/"); pair[1] == "summary.model" && ok && (provider == "anthropic" || provider == "openai") {
			value = model // lcm has the provider in a setting of its own
		}
		if _, err := config.Set(nil, pair[1], value); value == "" || told[pair[1]] || err != nil {
			continue // lcm cannot have this value
		}
		told[pair[1]] = true
		notes = append(notes, fmt.Sprintf("%s of lossless-claw is `lcm config set %s %s`", pair[0], pair[1], setup.ShellWord(value)))
	}
	return notes
}
