package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/hosts/jsonl"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/portable"
)

// source is an input that can be read twice.
type source struct {
	name  string
	path  string // absolute; empty for standard input
	file  *os.File
	size  int64
	piped bool   // it came through a pipe and is held in a temporary file
	left  string // the name of that file, where it could not be removed while it is open
}

// openSource opens a file. Standard input and other things that can be read
// only once are written to a temporary file first.
func (a *app) openSource(ctx context.Context, name string) (*source, error) {
	if name == "-" {
		return spool("standard input", a.typed(ctx))
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, failed(exitFailure, "check the path and that you may read it", "%w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, file.Close())
	case info.IsDir():
		return nil, errors.Join(failed(exitFailure, "name its files, or leave --session, --agent and --title out", "%s is a directory", name), file.Close())
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !info.Mode().IsRegular() {
		s, err := spool(name, lasting{ctx, file})
		if err == nil {
			s.path = abs
		}
		return s, errors.Join(err, file.Close())
	}
	return &source{name: name, path: abs, file: file, size: info.Size()}, nil
}

func spool(name string, r io.Reader) (*source, error) {
	file, err := os.CreateTemp("", "lcm-import-*")
	if err != nil {
		return nil, fmt.Errorf("keep the input while it is checked: %w", err)
	}
	s := &source{name: name, file: file, piped: true}
	// A file without a name is gone however the process ends.
	if os.Remove(file.Name()) != nil {
		s.left = file.Name()
	}
	if s.size, err = io.Copy(file, r); err != nil {
		s.close()
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return s, nil
}

func (s *source) close() {
	_ = s.file.Close() // it was only read
	if s.left != "" {
		_ = os.Remove(s.left)
	}
}

// isMessages refuses an archive, which is proved and added as a whole and for
// that is opened by its name.
func (s *source) isMessages() error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !portable.Peek(s.file) {
		return nil
	}
	hint := "leave --session, --agent and --title out: what is in an archive has its own"
	if s.piped {
		hint = "name its file instead: `lcm import FILE`"
	}
	return failed(exitFailure, hint, "%s is an archive of `lcm export`; nothing was stored", s.name)
}

// each reads the messages from the beginning.
func (s *source) each(t *jsonl.Reader, fn func(llms.Message) error) error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return t.Each(s.file, fn)
}

// key names the session of an input that was given none: by its path, and for
// standard input by its first messages, which are the same when more follow.
func (s *source) key(begins [sha256.Size]byte) string {
	if s.path == "" {
		return "import:stdin:" + hex.EncodeToString(begins[:6])
	}
	return "import:" + filepath.ToSlash(s.path)
}
