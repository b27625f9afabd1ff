package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Record is one record of a transcript.
type Record struct {
	// Input is the message. Its Raw holds the bytes of the record, its id is the
	// same whenever the record is read, and its flags come from the host.
	ingest.Input
	// Type is the host's own name for the kind of record. Known is false for a
	// type that the host's package does not know.
	Type  string
	Known bool
	// Branch says that the record does not answer the one before it: the
	// conversation went back to the record with the id After, or to its
	// beginning if that is empty. With Before it went back to the one before After.
	Branch bool
	After  string
	Before bool
	// ForkOf is the session whose history this one begins with, up to the record
	// with the id ForkAt. The transcript does not repeat it.
	ForkOf string
	ForkAt string
	// Mutable says that the host may rewrite the record. The first form counts;
	// later ones are stored hidden.
	Mutable bool
	// Copy says that another program copied the record from the host's transcript: it is not
	// stored if its id is known, and hidden if it comes to a session that was read elsewhere,
	// whose newest message it is not.
	Copy bool
	// Dir, Title, Parent and Agent describe the session, as in Transcript.
	Dir    string
	Title  string
	Parent string
	Agent  string
	// TooLong is the size of a record that is too large to read. It has no
	// other fields.
	TooLong int64
	// End is the position after the record.
	End Position
	// run is how many lines of unknown types the record stands for, by type, if there are several.
	run map[string]int
}

// lines is how many lines of the transcript the record stands for.
func (r *Record) lines() (n int) {
	for _, k := range r.run {
		n += k
	}
	return max(1, n)
}

// loose reports whether a record is a line of an unknown type, to which no other can refer: a run of
// them is one message.
func (r *Record) loose() bool {
	return r.Flags&store.FlagUnknown != 0 && strings.HasPrefix(r.ID, chained) && !r.Branch && !r.Mutable && !r.Copy
}

// join adds the next line of a run. The id stays that of the first line. A run that grew between
// two readings is stored a second time, hidden, if the file is read from its beginning again.
func (r *Record) join(next Record) {
	if r.run == nil {
		r.run = map[string]int{r.Type: 1}
	}
	r.run[next.Type]++
	r.Raw = llms.Raw{Format: llms.FormatText, Bytes: append(append(r.Raw.Bytes, '\n'), next.Raw.Bytes...)}
	r.End = next.End
}

// TooLong stands for a record of that many bytes. It is reported and not stored.
func TooLong(size int64) Record { return Record{TooLong: size} }

// NotJSON is the type of a record that no format explains: it is no JSON, or was cut off.
const NotJSON = "(damaged)"

// Unreadable makes a record of bytes in an unknown format. prev is the id before it.
func Unreadable(raw []byte, prev string) Record {
	m := llms.Text(llms.RoleSystem, string(raw))
	m.Raw = llms.Raw{Format: llms.FormatText, Bytes: raw}
	m.ID = ChainedID(prev, raw)
	return Record{Input: ingest.Input{Message: m, Flags: store.FlagHidden | store.FlagUnknown}, Type: NotJSON}
}

// chained begins the ids of records that have none.
const chained = "sha256:"

// ChainedID is the id of a record that has none: a hash of its bytes and of the id before
// it. Equal records at different places have different ids, and a change of a file
// affects ids only up to the next record with an id of its own.
func ChainedID(prev string, raw []byte) string {
	h := sha256.New()
	io.WriteString(h, prev)
	h.Write([]byte{0})
	h.Write(raw)
	return chained + hex.EncodeToString(h.Sum(nil)[:12])
}

// IsUnknown reports whether a message has a type that package llms does not know.
func IsUnknown(m llms.Message) bool {
	return len(m.Parts) == 1 && m.Parts[0].Kind == llms.PartOther &&
		string(m.Parts[0].Extra) == strings.TrimSpace(string(m.Raw.Bytes))
}

// aside begins the ids of files that a transcript refers to, and of what several of its
// records say together.
const aside = "aside:"

// IsAside reports whether an id is one of those, which exports leave out.
func IsAside(native string) bool { return strings.HasPrefix(native, aside) }

// AsideName returns the name that was given to [Aside].
func AsideName(native string) string { return strings.TrimPrefix(native, aside) }

// MaxAside is the largest such file that is stored.
const MaxAside = 64 << 20

// ReadAside makes a hidden record of the file at a path below root, such as the long
// output of a tool; name becomes part of its id. It returns false for anything but a
// regular file of a bounded size within root.
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
	return Aside(name, llms.RoleTool, string(content)), true
}

// Aside makes a hidden record of a text that is no record of the transcript; name becomes
// part of its id.
func Aside(name string, role llms.Role, text string) Record {
	m := llms.Text(role, text)
	m.Raw = llms.Raw{Format: llms.FormatText, Bytes: []byte(text)}
	m.ID = aside + name
	return Record{Input: ingest.Input{Message: m, Flags: store.FlagHidden}, Type: "(aside)", Known: true}
}
