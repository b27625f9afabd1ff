package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Restoring is a host that opens a session again when its files are back where the program
// looks for them.
type Restoring interface {
	Host
	// Places returns a function that says in which file each record of a transcript belongs, in
	// their order: a path below [Installation.Data] by the program's own rule, or "" for none.
	// The session goes on in t.Dir. Of a transcript the function may use nothing but ids and
	// times, and those only in their exact form.
	Places(t Transcript) func(id string, record func() ([]byte, error)) (string, error)
	// Resume returns the command that opens a session.
	Resume(session string) string
}

// Lost is a session that is stored and that its host no longer has.
type Lost struct {
	Transcript   // as it was when it was last read
	Conversation store.Conversation
	Bytes        int64 // of the file when it was last read; of a compressed one, of its content

	data string // the directory of the host's transcripts
}

// Lost returns the sessions that hosts on this machine had and no longer have, the newest first.
// Sessions that came from elsewhere are not among them: how far a transcript was read is written
// down only where it is read.
func (f *Feed) Lost(ctx context.Context) (all []Lost, err error) {
	sums, _, err := f.survey(ctx, Filter{})
	for _, s := range sums {
		all = append(all, s.Lost...)
	}
	slices.SortFunc(all, newestFirst)
	return all, err
}

func newestFirst(a, b Lost) int {
	return cmp.Or(b.Conversation.UpdatedAt.Compare(a.Conversation.UpdatedAt), cmp.Compare(b.Conversation.ID, a.Conversation.ID))
}

// lost returns the sessions below a directory that a host no longer has. have are the keys of those
// that it has, and unread the paths that could not be read.
func (f *Feed) lost(ctx context.Context, cursors map[string]cursor, host, data string, have map[string]bool, unread []string) (lost []Lost, err error) {
	for key, c := range cursors {
		session, of := strings.CutPrefix(key, host+":")
		if !of || have[key] || c.Conversation == 0 || !below(data, c.Path) || slices.ContainsFunc(unread, func(path string) bool { return below(path, c.Path) }) {
			continue
		}
		conv, err := f.store.Conversation(ctx, c.Conversation)
		if errors.Is(err, store.ErrNotFound) || err == nil && !conv.ErasedAt.IsZero() {
			continue
		}
		if err != nil {
			return nil, err
		}
		l := Lost{Transcript: Transcript{Host: host, Session: session, Path: c.Path, Size: c.Size}, Conversation: conv, Bytes: max(c.Offset, c.Size), data: data}
		if strings.HasSuffix(c.Path, ".zst") {
			l.Bytes = c.Offset
		}
		lost = append(lost, l)
	}
	slices.SortFunc(lost, newestFirst)
	return lost, nil
}

// below reports whether a path is root or below it, by their names alone.
func below(root, path string) bool {
	at, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(at)
}

// Resumable returns the lost sessions that no other of them has started.
func Resumable(all []Lost) []Lost {
	is := map[store.ConversationID]bool{}
	for _, l := range all {
		is[l.Conversation.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(l Lost) bool { return is[l.Conversation.Parent] })
}

// resumable is an id that may be shown as part of a command.
var resumable = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z-]{0,99}$`)

// Resume returns the command that opens a conversation in its host on this machine, and whether
// the host still has it. The command is empty if the host has no such command, and for sub-agents
// and conversations that came from elsewhere.
func (f *Feed) Resume(ctx context.Context, c store.Conversation) (command string, there bool, err error) {
	host, session, _ := strings.Cut(c.Key, ":")
	h, err := f.Host(host)
	r, ok := h.(Restoring)
	if err != nil || !ok || c.Parent != 0 || !c.ErasedAt.IsZero() || !resumable().MatchString(session) {
		return "", false, nil
	}
	at, _, err := f.cursor(ctx, Transcript{Host: host, Session: session})
	in := h.Find(f.machine)
	if err != nil || at.Conversation != c.ID || !below(in.Data, at.Path) {
		return "", false, err
	}
	if _, err := os.Stat(at.Path); err == nil {
		return r.Resume(session), true, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", false, nil // nobody can tell
	}
	_, err = FindSession(ctx, h, in, session) // the host may have moved it
	if err != nil && !errors.Is(err, ErrNoTranscript) {
		return "", false, nil // nobody can tell
	}
	return r.Resume(session), err == nil, nil
}

// Undeletion is what writing a session back would do.
type Undeletion struct {
	// Files are those to write. The last one makes the program see the session.
	Files []LostFile `json:"files"`
	// Left are files beside it that are there already.
	Left []string `json:"left,omitempty"`
	// Changed says what is not as it was.
	Changed []string `json:"changed,omitempty"`
	// Resume is the command that opens the session.
	Resume string `json:"resume"`
}

// LostFile is a file to write.
type LostFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`

	records []store.MessageID
	whole   bool // a text, and not lines
	open    bool // its last line has no line feed
}

// Undelete finds out which files bring a session back, with those of its sub-agents that are
// among all, so that it can go on in a directory. It makes their directories, and writes nothing.
func (f *Feed) Undelete(ctx context.Context, l Lost, all []Lost, dir string) (u Undeletion, err error) {
	h, err := f.Host(l.Host)
	if err != nil {
		return u, err
	}
	r, ok := h.(Restoring)
	if !ok {
		return u, fmt.Errorf("hosts: %s is no Restoring", l.Host)
	}
	if l.Conversation.Parent == 0 { // a sub-agent is no session to open
		u.Resume = r.Resume(l.Session)
	}
	for family := []Lost{l}; len(family) > 0; family = family[1:] {
		one := family[0]
		for _, o := range all {
			if o.Conversation.Parent == one.Conversation.ID {
				family = append(family, o)
			}
		}
		one.Dir = dir
		files, err := f.files(ctx, r, one, &u)
		if err != nil {
			return u, fmt.Errorf("write the session %s back: %w", one.Session, err)
		}
		u.Files = append(files, u.Files...) // the session's own stay last
	}
	last := u.Files[len(u.Files)-1].Path
	u.Files = slices.DeleteFunc(u.Files, func(file LostFile) bool {
		_, err := os.Lstat(file.Path)
		there := err == nil && file.Path != last
		if there {
			u.Left = append(u.Left, file.Path)
		}
		return there
	})
	return u, nil
}

// files returns the files of one transcript: those beside it, and then its own.
func (f *Feed) files(ctx context.Context, r Restoring, l Lost, u *Undeletion) ([]LostFile, error) {
	conversations, err := f.store.Conversations(ctx, store.ConversationQuery{Key: l.Key()})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(conversations, func(a, b store.Conversation) int { return cmp.Compare(a.Segment, b.Segment) })
	place := r.Places(l.Transcript)
	var own, beside []LostFile
	var erased, cleaned int64
	for _, c := range conversations {
		erased += c.Erased
		for m, err := range f.store.Messages(ctx, store.MessageQuery{Conversation: c.ID, NoRaw: true}) {
			if err != nil {
				return nil, err
			}
			if m.Format == llms.FormatLCM {
				continue // lcm's engine stored it before the host wrote it
			}
			if m.Flags&store.FlagRedacted != 0 {
				cleaned++
			}
			path, err := place(m.Native, func() ([]byte, error) { return f.store.Record(ctx, m.ID) })
			if err != nil {
				return nil, err
			}
			if path = filepath.Join(l.data, path); path == l.data {
				continue
			}
			files, aside := &own, IsAside(m.Native)
			if aside {
				files = &beside
			}
			i := slices.IndexFunc(*files, func(file LostFile) bool { return file.Path == path })
			if i < 0 {
				i = len(*files)
				*files = append(*files, LostFile{Path: path, whole: aside})
			}
			if file := &(*files)[i]; aside { // the newest, if it was changed
				file.records, file.Bytes = []store.MessageID{m.ID}, m.Size
			} else {
				file.records, file.Bytes = append(file.records, m.ID), file.Bytes+m.Size+1
			}
		}
	}
	if len(own) == 0 {
		return nil, errors.New("nothing of its transcript is stored")
	}
	last := &own[len(own)-1]
	if last.open = l.Bytes == last.Bytes-1; last.open {
		last.Bytes--
	}
	if erased > 0 {
		u.Changed = append(u.Changed, prose.Count(erased, "message was", "messages were")+" erased")
	}
	if cleaned > 0 {
		u.Changed = append(u.Changed, prose.Count(cleaned, "message was", "messages were")+" stored without a private block or a secret")
	}
	if l.Bytes != last.Bytes && erased+cleaned == 0 {
		u.Changed = append(u.Changed, fmt.Sprintf("%s had %s bytes when it was last read, and would have %s", filepath.Base(last.Path), prose.Number(l.Bytes), prose.Number(last.Bytes)))
	}
	files := append(beside, own...)
	for _, file := range files {
		parent := filepath.Dir(file.Path)
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return nil, err
		}
		if err := lines.Within(l.data, parent); err != nil {
			return nil, fmt.Errorf("%s is a link that leads %w", parent, err)
		}
	}
	return files, nil
}

// Write writes the content of a file. Damage is an error.
func (f *Feed) Write(ctx context.Context, file LostFile, w io.Writer) error {
	for i, id := range file.records {
		record, err := f.store.Record(ctx, id)
		if err != nil {
			return err
		}
		if end := i == len(file.records)-1; !file.whole && !(end && file.open) {
			record = append(record, '\n')
		}
		if _, err := w.Write(record); err != nil {
			return err
		}
	}
	return nil
}
