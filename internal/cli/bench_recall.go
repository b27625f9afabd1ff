package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/bench/harness"
	evidence "github.com/lossless-context/lcm/internal/bench/recall"
	"github.com/lossless-context/lcm/internal/ingest"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

func newBenchRecall(p *program) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "recall",
		Short: "Count how much of the evidence a question's search finds",
		Long: `Ask every question of a data set and count how much of its evidence is among the
first 5, 10 and 20 messages found, and how often a session that holds evidence
comes first: by the index alone, by two plain full-text searches, and by lcm grep
on a database with the whole data set in it. The bundled set has 2,211 messages
and 342 questions; --data takes LoCoMo's JSON, or the evidence format that the
package internal/bench/recall documents.`,
		Example: "lcm bench recall\nlcm bench recall --data locomo10.json --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			load := evidence.Bundled
			if path != "" {
				load = func() (evidence.Dataset, error) { return evidence.Load(path) }
			}
			data, err := load()
			if err != nil {
				return failed(exitFailure, "`go doc github.com/lossless-context/lcm/internal/bench/recall` describes the formats", "%w", err)
			}
			report, err := measureRecall(cmd.Context(), data)
			if err != nil {
				return err
			}
			if p.json {
				return report.WriteJSON(p.out)
			}
			return report.WriteText(p.out)
		},
	}
	c.Flags().StringVar(&path, "data", "", "data set (default: the bundled one)")
	p.jsonFlag(c)
	return c
}

// measureRecall measures with a database of its own beside the index.
func measureRecall(ctx context.Context, data evidence.Dataset) (r evidence.Report, err error) {
	record, err := harness.Temp(ctx, "", sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, record.Close(ctx)) }()
	library, err := newLibrary(ctx, record.DB, data)
	if err != nil {
		return r, err
	}
	return evidence.Run(ctx, data, evidence.Options{Also: []evidence.Contender{{Name: "lcm grep on a database", Search: library.search}}})
}

// library is a data set in a database.
type library struct {
	recall        *recall.Service
	conversations map[string]store.ConversationID
	names         map[string]string // message → its id in the data set
}

func newLibrary(ctx context.Context, db *sqlite.DB, data evidence.Dataset) (*library, error) {
	svc, err := recall.New(db)
	if err != nil {
		return nil, err
	}
	in, err := ingest.New(db, nil, 0)
	if err != nil {
		return nil, err
	}
	l := &library{recall: svc, conversations: map[string]store.ConversationID{}, names: map[string]string{}}
	for _, talk := range data.Conversations {
		c, err := db.Open(ctx, store.NewConversation{Key: talk.ID})
		if err != nil {
			return nil, err
		}
		l.conversations[talk.ID] = c.ID
		for _, s := range talk.Sessions {
			ms := make([]llms.Message, len(s.Messages))
			for i, m := range s.Messages {
				role := llms.Role(m.Role)
				if !role.Valid() {
					role = llms.RoleAssistant
				}
				ms[i] = llms.Text(role, m.Text)
				ms[i].Time = m.Time
			}
			done, err := in.Append(ctx, c.ID, ingest.Messages(ms...)...)
			if err != nil {
				return nil, fmt.Errorf("conversation %s: %w", talk.ID, err)
			}
			for i, stored := range done.Messages {
				l.names[stored.ID.String()] = s.Messages[i].ID
			}
		}
	}
	return l, nil
}

// search asks a question the way an agent does.
func (l *library) search(ctx context.Context, conversation, question string) ([]string, error) {
	a, err := l.recall.Grep(ctx, recall.GrepRequest{
		Pattern: question, Mode: store.FullText, Where: recall.Where{ConversationID: l.conversations[conversation]},
	})
	if err != nil {
		return nil, err
	}
	found := make([]string, len(a.Matches))
	for i, m := range a.Matches {
		found[i] = l.names[m.ID]
	}
	return found, nil
}
