package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// Receipts record the changes to files, and keep the files as they were before.
type Receipts struct {
	dir   string
	files map[string]receipt // by the path of the file, links resolved
}

// receipt records the change of one file.
type receipt struct {
	Host string `json:"host"`
	// Created says that there was no file before.
	Created bool `json:"created,omitempty"`
	// Original names the copy of the file without lcm. Written is the hash of the
	// file after setup.
	Original string `json:"original,omitempty"`
	Written  string `json:"written"`
	// Replaced is the hash of the file before setup: a killed setup may have
	// recorded a change without making it.
	Replaced string   `json:"replaced,omitempty"`
	Dirs     []string `json:"dirs,omitempty"` // directories that setup made
}

// known reports whether a file is as setup left it.
func (one receipt) known(content []byte) bool {
	sum := hash(content)
	return sum == one.Written || sum == one.Replaced
}

// OpenReceipts reads the receipts in a directory, which need not exist.
func OpenReceipts(dir string) (*Receipts, error) {
	r := &Receipts{dir: dir, files: map[string]receipt{}}
	data, err := os.ReadFile(r.index())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the receipts of earlier setups: %w", err)
	}
	if err := json.Unmarshal(data, &r.files); err != nil {
		return nil, &hint.Error{Err: fmt.Errorf("%s: %w", r.index(), err), Hint: "move the file away: entries can then still be taken out, but files not restored to the byte"}
	}
	return r, nil
}

func (r *Receipts) index() string { return filepath.Join(r.dir, "receipts.json") }

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// keep stores a copy of a file under the hash of its content.
func (r *Receipts) keep(path string, content []byte) (name string, err error) {
	name = filepath.Base(path) + "." + hash(content)[:16]
	to := filepath.Join(r.dir, name)
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, content) {
		return name, nil
	}
	return name, write(to, content, 0o600)
}

// restore restores the original of a file in which nothing else has changed, and reports whether
// it did.
func (r *Receipts) restore(c *Change) bool {
	one, ok := r.files[c.target]
	c.dirs = one.Dirs
	left := string(bytes.Join(bytes.Fields(c.After), nil))
	empty := left == "" || left == "{}"
	switch {
	case !c.Exists:
	case c.whole:
		c.Delete = len(c.After) == 0
	case !ok: // without a receipt, only remove the entries
	case one.Created && empty && !bytes.Equal(c.Before, c.After): // it had entries of lcm
		c.Delete = true
	case one.Original != "" && one.known(c.Before):
		if original := r.original(one); original != nil { // else only remove the entries
			c.After = original
			return true
		}
	}
	return c.Delete
}

// original returns the copy of a file without lcm, or nil.
func (r *Receipts) original(one receipt) []byte {
	if one.Original == "" {
		return nil
	}
	original, err := os.ReadFile(filepath.Join(r.dir, one.Original))
	if err != nil || hash(original)[:16] != filepath.Ext(one.Original)[1:] {
		return nil
	}
	return original
}

// willWrite records a change before it is made, so that a killed setup can be undone.
func (r *Receipts) willWrite(host string, c Change) error {
	old, known := r.files[c.target]
	if known && old.Written != hash(c.Before) && bytes.Equal(c.clean, c.Before) {
		// The file has no entry of lcm: forget the recorded change.
		old, known = receipt{Dirs: old.Dirs}, false
	}
	now := receipt{Host: host, Created: !c.Exists || c.whole, Written: hash(c.After), Replaced: hash(c.Before), Dirs: append(old.Dirs, c.dirs...)}
	if known {
		now.Created = old.Created
	}
	switch {
	case now.Created:
	case known && old.known(c.Before):
		now.Original = old.Original // it is still the user's file
	default:
		name, err := r.keep(c.target, c.clean)
		if err != nil {
			return err
		}
		now.Original = name
	}
	r.files[c.target] = now
	return r.save()
}

// forget drops the receipt of a file that lcm was removed from.
func (r *Receipts) forget(c Change) error {
	delete(r.files, c.target)
	return r.save()
}

func (r *Receipts) save() error {
	data, err := json.MarshalIndent(r.files, "", "  ")
	if err != nil {
		return fmt.Errorf("write the receipts of this setup: %w", err)
	}
	return write(r.index(), append(data, '\n'), 0o600)
}
