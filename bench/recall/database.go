package recall

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Measure runs all questions of a dataset, also through the search of a database
// that it makes in a temporary directory.
func Measure(ctx context.Context, data Dataset) (r Report, err error) {
	record, err := harness.Temp(ctx, "", sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, record.Close(ctx)) }()
	in, err := load(ctx, record.DB, data)
	if err != nil {
		return r, err
	}
	also := []Contender{{Name: "lcm grep on a database", Search: in.search}}
	folded := false
	also = append(also, Contender{Name: "lcm grep after compaction", Search: func(ctx context.Context, conversation, question string) ([]string, error) {
		if !folded {
			if err := fold(ctx, record.Engine, data); err != nil {
				return nil, err
			}
			folded = true
		}
		return in.search(ctx, conversation, question)
	}})
	return Run(ctx, data, Options{Also: also})
}

// fold compacts all conversations of a dataset into extractive summaries.
func fold(ctx context.Context, engine *lcm.Engine, data Dataset) error {
	for _, talk := range data.Conversations {
		if _, err := engine.Session(talk.ID).Compact(ctx, lcm.CompactOptions{Budget: 8000, Full: true}); err != nil {
			return fmt.Errorf("compact conversation %s: %w", talk.ID, err)
		}
	}
	return nil
}

// database is a dataset in a database.
type database struct {
	recall        *lookup.Service
	conversations map[string]store.ConversationID
	names         map[string]string // message → its id in the dataset
}

func load(ctx context.Context, db *sqlite.DB, data Dataset) (*database, error) {
	svc, err := lookup.New(db)
	if err != nil {
		return nil, err
	}
	in, err := ingest.New(db, nil, 0)
	if err != nil {
		return nil, err
	}
	d := &database{recall: svc, conversations: map[string]store.ConversationID{}, names: map[string]string{}}
	for _, talk := range data.Conversations {
		c, err := db.Open(ctx, store.NewConversation{Key: talk.ID})
		if err != nil {
			return nil, err
		}
		d.conversations[talk.ID] = c.ID
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
				d.names[stored.ID.String()] = s.Messages[i].ID
			}
		}
	}
	return d, nil
}

// search asks a question as an agent does. A summary has no id in the dataset.
func (d *database) search(ctx context.Context, conversation, question string) ([]string, error) {
	a, err := d.recall.Grep(ctx, recall.GrepRequest{
		Pattern: question, Mode: store.FullText, Where: recall.Where{ConversationID: d.conversations[conversation]},
	})
	if err != nil {
		return nil, err
	}
	found := make([]string, len(a.Matches))
	for i, m := range a.Matches {
		found[i] = d.names[m.ID.String()]
	}
	return found, nil
}
