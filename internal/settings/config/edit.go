package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/lossless-context/lcm/internal/kit/tomledit"
)

// Set returns the text of a configuration file with one value changed or
// added. Comments, order and blank lines stay as they are. The value is given
// as text, in the form the environment would carry it.
func Set(src []byte, key, value string) ([]byte, error) {
	s, ok := lookup(key)
	if !ok {
		return nil, unknown(&Error{Source: FromFlag, Key: key})
	}
	parsed, err := s.parse(value)
	if err != nil {
		return nil, &Error{Source: FromFlag, Key: key, Problem: err.Error(), Allowed: s.Allowed()}
	}
	var c Config
	s.set(&c, parsed)
	before, err := parseFile("the configuration file", src)
	if err != nil {
		return nil, fmt.Errorf("set %s: repair the file first: %w", key, err)
	}
	edited, err := tomledit.Set(string(src), []string{s.Section()}, s.Name(), literal(s.get(&c)))
	if err == nil {
		err = confirm(before, []byte(edited), s, parsed)
	}
	if err != nil {
		return nil, fmt.Errorf("set %s: the file is laid out in a way this command does not edit, so nothing was changed; write the value by hand in %s: %w", key, s.Section(), err)
	}
	return []byte(edited), nil
}

// confirm parses the edited text and checks that only the setting changed: the
// edit itself is textual.
func confirm(before *document, edited []byte, s Setting, want any) error {
	after, err := parseFile("the edited file", edited)
	if err != nil {
		return err
	}
	got, err := s.convert(after.values[s.Key])
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return errors.New("it would have another value")
	}
	delete(before.values, s.Key)
	delete(after.values, s.Key)
	if !reflect.DeepEqual(asText(before.values), asText(after.values)) {
		return errors.New("another setting would change")
	}
	return nil
}

// literal writes a value as TOML.
func literal(value any) string {
	text, err := toml.Marshal(map[string]any{"v": value})
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(value)) // unreachable: every kind can be encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "v = "), "\n")
}

// asText writes values as text, since not-a-number does not equal itself.
func asText(values map[string]any) map[string]string {
	out := make(map[string]string, len(values))
	for key, value := range values {
		out[key] = fmt.Sprintf("%T %v", value, value)
	}
	return out
}

// SetFile changes one value in the configuration file, which it creates if
// need be, and returns the file's path. The file is replaced in one step.
func SetFile(o Options, key, value string) (path string, err error) {
	if path, err = o.Path(); err != nil {
		return "", err
	}
	src, err := o.readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("set %s: %w", key, err)
	}
	edited, err := Set(src, key, value)
	if err != nil {
		return "", err
	}
	// A value that is allowed by itself may contradict another. One that makes
	// a good file bad is refused; one that leaves a bad file bad is not, since
	// files are repaired step by step.
	if _, err := Load(o.reading(src)); err == nil {
		if _, err := Load(o.reading(edited)); err != nil {
			return "", fmt.Errorf("set %s to %s: %w", key, value, err)
		}
	}
	if err := replace(path, edited); err != nil {
		return "", fmt.Errorf("set %s (is %s writable?): %w", key, filepath.Dir(path), err)
	}
	return path, nil
}

// reading returns options under which the configuration file holds src.
func (o Options) reading(src []byte) Options {
	o.ReadFile = func(string) ([]byte, error) { return src, nil }
	return o
}

// replace writes a file beside path and renames it over it, so that a crash
// leaves the old file or the new one.
func replace(path string, data []byte) (err error) {
	// A link stays a link: people keep their configuration in a repository.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*.toml")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
