// Package why measures `lcm why` on lines of known origin.
//
// A line of the file of questions is a JSON object: "file" and "line" in the work tree that is
// given, "sessions" the sessions that wrote it, as the keys of their conversations end.
package why

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/recall/why"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options says what to measure.
type Options struct {
	DB       string // the record
	Repo     string // the work tree with the files
	Lines    string // the file of questions
	Answers  io.Writer
	Progress harness.Progress
}

// Report is the outcome.
type Report struct {
	Asked    int     `json:"asked"`
	Answered int     `json:"answered"`
	Right    int     `json:"right"` // answers that name a session that wrote the line
	CPU      float64 `json:"cpuMillis"`
}

// Text is the report for people.
func (r Report) Text() string {
	return fmt.Sprintf("%d lines: %d answered (%.2f), %d of them right (%.2f), %.0f ms of processor time each\n", r.Asked, r.Answered,
		float64(r.Answered)/float64(max(1, r.Asked)), r.Right, float64(r.Right)/float64(max(1, r.Answered)), r.CPU)
}

type question struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Sessions []string `json:"sessions"`
}

// Measure asks for every line.
func Measure(ctx context.Context, o Options) (r Report, err error) {
	rec, err := harness.Open(ctx, o.DB, sqlite.Options{})
	if err != nil {
		return r, err
	}
	defer rec.Close(ctx)
	all, err := rec.DB.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return r, err
	}
	f, err := os.Open(o.Lines)
	if err != nil {
		return r, err
	}
	defer f.Close()
	var busy time.Duration
	for in := bufio.NewScanner(f); in.Scan(); {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			return r, err
		}
		began := harness.CPUTime()
		a, err := why.AskIn(ctx, rec.DB, o.Repo, q.File, q.Line, all)
		if err != nil {
			return r, err
		}
		busy += harness.CPUTime() - began
		r.Asked++
		right := false
		for _, origin := range a.Origins {
			r.Answered++
			right = slices.ContainsFunc(sessions(all, origin.Conversation), func(key string) bool {
				return slices.ContainsFunc(q.Sessions, func(s string) bool { return strings.HasSuffix(key, s) })
			})
		}
		if right {
			r.Right++
		}
		if o.Answers != nil {
			line, err := json.Marshal(map[string]any{"question": q, "answer": a, "right": right})
			if err != nil {
				return r, err
			}
			fmt.Fprintf(o.Answers, "%s\n", line)
		}
		o.Progress.Tell(int64(r.Asked), 0, q.File)
	}
	r.CPU = harness.Millis(busy) / float64(max(1, r.Asked))
	return r, nil
}

// sessions returns the keys of a conversation and of those above it.
func sessions(all []store.Conversation, id store.ConversationID) (keys []string) {
	for _, c := range all {
		if c.ID == id {
			keys = append(keys, c.Key)
			if c.Parent != 0 {
				keys = append(keys, sessions(all, c.Parent)...)
			}
		}
	}
	return keys
}
