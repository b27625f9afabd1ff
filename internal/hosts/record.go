package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"

	"github.com/lossless-context/lcm/internal/ingest"
	"github.com/lossless-context/lcm/internal/regularfile"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Record is one record of a transcript.
type Record struct {
	// Input is the message, with the bytes of the record in its Raw, an id
	// that is the same whenever the record is read, and what the host knows
	// about it as flags.
	ingest.Input
	// Type is the host's own name for what kind of record this is. Known is
	// false for one that its package has never heard of.
	Type  string
	Known bool
	// Branch says that the record does not answer the one before it: the
	// conversation went back to the record with the id After, or to its
	// beginning where that is empty, and on from there.
	Branch bool
	After  string
	// Undo says that the host took back this many of the user's turns.
	Undo int
	// Mutable says that the host may write the record again in another form.
	// The first form is the one that counts; later ones are kept hidden.
	Mutable bool
	// Dir, Title, Parent and Agent are what the record tells about its
	// session, as in Transcript.
	Dir    string
	Title  string
	Parent string
	Agent  string
	// TooLong is the size of a record that is too large to be read. Nothing
	// else of it is known.
	TooLong int64
	// End is the position after the record.
	End Position
}

// TooLong stands for a record of that many bytes, which is reported and not
// stored.
func TooLong(size int64) Record { return Record{TooLong: size} }

// Unreadable keeps a record that is not what its host writes: its bytes, as
// something that is not known. prev is the id of the record before it.
func Unreadable(raw []byte, prev string) Record {
	m := llms.Text(llms.RoleSystem, string(raw))
	m.Raw = llms.Raw{Format: llms.FormatText, Bytes: raw}
	m.ID = ChainedID(prev, raw)
	return Record{Input: ingest.Input{Message: m, Flags: store.FlagHidden | store.FlagUnknown}, Type: "(damaged)"}
}

// ChainedID is the id of a record that has none: what it says, and after which
// record it says so. Equal records in different places are then different, and
// where the file is rewritten a change reaches no further than to the next
// record with an id of its own.
func ChainedID(prev string, raw []byte) string {
	h := sha256.New()
	io.WriteString(h, prev)
	h.Write([]byte{0})
	h.Write(raw)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)[:12])
}

// IsUnknown reports whether a message that was read from a transcript is a
// record of a type that package llms does not know: all of it is one part.
func IsUnknown(m llms.Message) bool {
	return len(m.Parts) == 1 && m.Parts[0].Kind == llms.PartOther &&
		string(m.Parts[0].Extra) == strings.TrimSpace(string(m.Raw.Bytes))
}

// aside begins the ids of records that are not part of a transcript but were
// kept with it.
const aside = "aside:"

// IsAside reports whether a message with this native id is a file that a
// transcript refers to and that was kept beside its records. Giving a
// transcript back leaves it out.
func IsAside(native string) bool { return strings.HasPrefix(native, aside) }

// MaxAside is the largest file that is kept beside a transcript.
const MaxAside = 64 << 20

// ReadAside makes a hidden record of a file that a transcript refers to: the
// spilled output of a tool, say. at is its path below the directory root, and
// name is what it is called there. Nothing is returned for what is not a file of
// its own, too large, or outside of root.
func ReadAside(root, at, name string) (Record, bool) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return Record{}, false
	}
	defer r.Close()
	if info, err := r.Lstat(at); err != nil || !info.Mode().IsRegular() {
		return Record{}, false
	}
	f, info, err := regularfile.OpenIn(r, at)
	if err != nil {
		return Record{}, false
	}
	defer f.Close()
	if info.Size() > MaxAside {
		return Record{}, false
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxAside+1))
	if err != nil || len(content) > MaxAside {
		return Record{}, false
	}
	m := llms.Text(llms.RoleTool, string(content))
	m.Raw = llms.Raw{Format: llms.FormatText, Bytes: content}
	m.ID = aside + name
	return Record{Input: ingest.Input{Message: m, Flags: store.FlagHidden}, Type: "(file)", Known: true}, true
}
