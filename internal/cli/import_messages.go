package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts/jsonl"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
	"github.com/lossless-context/lcm/llms"
)

// importReport is the outcome of the import of a file of messages.
type importReport struct {
	Conversation store.ConversationID `json:"conversation"`
	Key          string               `json:"key"`
	Read         int                  `json:"read"`
	New          int                  `json:"new"`
	Known        int                  `json:"known"`
	Forgotten    int                  `json:"forgotten,omitempty"` // all of them were erased here; there is no conversation
	Loose        int                  `json:"loose,omitempty"`     // before the part that matches; stored outside the view
	Late         int                  `json:"late,omitempty"`      // before ones that were there; stored as they arrived
	Rewound      bool                 `json:"rewound,omitempty"`
	Torn         *jsonl.Torn          `json:"torn,omitempty"`
	Seconds      float64              `json:"seconds"`
}

// messageFile is a file of messages, held in memory.
type messageFile struct {
	key      string // of its session, if no flag names another
	messages []llms.Message
	torn     *jsonl.Torn
}

// maxMessageFile is the largest file of messages. Tests set less.
var maxMessageFile int64 = 256 << 20

// opening messages identify standard input: many inputs begin with the same prompt.
const opening = 4

// messageForm shows a message to a user whose file has none.
const messageForm = "a message looks like {\"role\": \"user\", \"content\": \"…\"}"

// readMessages reads a whole file, or standard input, so that a bad line leaves no half of
// it in the store.
func (p *program) readMessages(ctx context.Context, path string) (in messageFile, err error) {
	name, from := "standard input", p.typed(ctx)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return in, missingPath(err, path)
		}
		defer file.Close()
		abs, err := filepath.Abs(path)
		if err != nil {
			return in, err
		}
		name, from, in.key = path, file, "import:"+filepath.ToSlash(abs)
	}
	buffered := bufio.NewReader(from)
	head, _ := buffered.Peek(512) // the parser reports an error
	switch first := bytes.TrimLeft(head, " \t\r\n\ufeff"); {
	case archive.Peek(bytes.NewReader(head)):
		return in, failed(exitFailure, "an archive is imported by the name of its file alone: `lcm import FILE`", "%s is an archive of `lcm db export`; nothing was stored", name)
	case len(first) > 0 && first[0] != '{' && first[0] != '[': // it may be endless
		return in, failed(exitFailure, messageForm, "%s holds no messages: it is neither JSON nor an archive; nothing was stored", name)
	}
	data, err := io.ReadAll(io.LimitReader(buffered, maxMessageFile+1))
	switch {
	case err != nil:
		return in, fmt.Errorf("read %s: %w", name, err)
	case int64(len(data)) > maxMessageFile:
		return in, failed(exitFailure, "split it; with ids, the parts may have the same --session", "%s has more than %d MiB; nothing was stored", name, maxMessageFile>>20)
	}
	if in.messages, in.torn, err = jsonl.Read(name, data); err != nil {
		return in, advise(exitFailure, "nothing was stored; mend or remove that record and repeat the command", err)
	}
	if len(in.messages) == 0 {
		return in, failed(exitFailure, messageForm, "%s holds no complete message", name)
	}
	begins := sha256.New()
	for _, m := range in.messages[:min(len(in.messages), opening)] {
		one := sha256.Sum256(m.Raw.Bytes)
		begins.Write(one[:])
	}
	in.key = cmp.Or(in.key, "import:stdin:"+hex.EncodeToString(begins.Sum(nil)[:6]))
	return in, nil
}

// importMessages imports a file of messages.
func (cmd *importCommand) importMessages(ctx context.Context, path string) error {
	begun := time.Now()
	in, err := cmd.readMessages(ctx, path)
	if err != nil {
		return err
	}
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	project, err := currentProject()
	if err != nil {
		return err
	}
	in.key = cmp.Or(cmd.session, in.key)
	if err := checkIgnored(cfg, in.key, project); err != nil {
		return err
	}
	return cmd.useWith(ctx, cfg, toWrite, func(rec *openRecord) error {
		r, err := rec.storeMessages(ctx, rec.engine.Session(in.key, lcm.WithProject(project), lcm.WithAgent(cmd.agent), lcm.WithTitle(cmd.title)), in)
		if err != nil {
			return err
		}
		r.Seconds = time.Since(begun).Seconds()
		current, err := rec.pick(ctx, choice{})
		return cmd.printImport(safetext.Line(path), r, err == nil && current.ID == r.Conversation)
	})
}

// checkIgnored refuses a session that the settings keep out of the record.
func checkIgnored(cfg *config.Config, key string, in store.Project) error {
	err := ingest.CheckIgnored(engineconfig.Privacy(cfg), key, in)
	if err == nil {
		return nil
	}
	return failed(exitConfig, "`lcm config` shows ingest.ignore_session_patterns and ingest.ignore_project_patterns, and where they are set", "%w", err)
}

// storeMessages stores the messages of a file as a whole: by their ids, or by their place in
// the history.
func (rec *openRecord) storeMessages(ctx context.Context, session *lcm.Session, in messageFile) (importReport, error) {
	r := importReport{Key: session.Key(), Read: len(in.messages), Torn: in.torn}
	done, err := session.Sync(ctx, in.messages)
	if err != nil {
		return r, err
	}
	r.New, r.Loose, r.Late, r.Rewound = len(done.Stored), done.Loose, done.Late, done.Rewound != nil
	kept, err := rec.db.Conversations(ctx, store.ConversationQuery{Key: r.Key, ActiveOnly: true, Limit: 1})
	if err == nil && len(kept) == 0 { // none is made for messages that were erased
		r.Forgotten = r.Read
	} else if err == nil {
		r.Conversation, r.Known = kept[0].ID, r.Read-r.New
	}
	return r, err
}

// printImport prints a report, after warnings of irregularities of the input.
func (cmd *importCommand) printImport(name string, r importReport, current bool) error {
	if r.Forgotten > 0 {
		cmd.note("`lcm forget --list` shows the tombstone that keeps them out; `lcm forget --lift NUMBER` lets them be imported again")
		return cmd.result(r, "%s: %s read, all of them were forgotten: nothing was stored\n", safetext.Line(r.Key), prose.Number(r.Read))
	}
	switch t := r.Torn; {
	case t == nil:
	case t.Bytes == 0:
		cmd.warn("%s:%d: the input ends in the middle of a list; what is there of it is stored", name, t.Line)
	default:
		cmd.warn("%s:%d: the last record is cut off after %s; it was left out, the rest is stored", name, t.Line, prose.Count(t.Bytes, "byte", "bytes"))
	}
	if r.Rewound {
		cmd.note("the file leaves the stored history at an earlier message; what came after it is kept as a branch")
	}
	if r.Loose > 0 {
		cmd.note("%s before the part that is known: stored and searchable, but not in the view", prose.Count(r.Loose, "new message stands", "new messages stand"))
	}
	if r.Late > 0 {
		cmd.note("%s before some that were known: stored in the order of their arrival", prose.Count(r.Late, "new message stands", "new messages stand"))
	}
	if !current {
		cmd.note("it is not the current conversation here: use --conversation %d, as in `lcm show --conversation %d`", r.Conversation, r.Conversation)
	}
	return cmd.result(r, "conversation %d (%s): %s read, %s new, %s known\n", r.Conversation, safetext.Line(r.Key),
		prose.Number(r.Read), prose.Number(r.New), prose.Number(r.Known))
}
