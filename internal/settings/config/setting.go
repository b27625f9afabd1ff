package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind says which values a setting takes.
type Kind string

// The kinds of setting.
const (
	Int      Kind = "integer"
	Float    Kind = "number"
	Bool     Kind = "boolean"
	String   Kind = "string"
	Duration Kind = "milliseconds" // an integer in text, a time.Duration in Config
	Strings  Kind = "list"         // comma-separated in the environment, an array in the file
)

// Setting is one row of the table.
type Setting struct {
	Key     string // section and name in the file: "compaction.leaf_chunk_tokens"
	Env     string // "LCM_LEAF_CHUNK_TOKENS"
	Kind    Kind
	Default string // as text, in the form of the environment
	// Min and Max bound numbers and durations. A Max of zero is no bound.
	Min, Max float64
	Enum     []string // the allowed strings, if they are a closed set
	Doc      string
	// Secret values are never shown.
	Secret bool
}

// Section is the part of the key before the dot: the table in the file.
func (s Setting) Section() string { section, _, _ := strings.Cut(s.Key, "."); return section }

// Name is the part of the key after the dot.
func (s Setting) Name() string { _, name, _ := strings.Cut(s.Key, "."); return name }

// Allowed describes the allowed values, for errors and documentation.
func (s Setting) Allowed() string {
	switch s.Kind {
	case Int, Float, Duration:
		what := map[Kind]string{Int: "an integer", Float: "a number", Duration: "milliseconds, an integer"}[s.Kind]
		if s.Max == 0 {
			return fmt.Sprintf("%s, at least %s", what, number(s.Min))
		}
		return fmt.Sprintf("%s from %s to %s", what, number(s.Min), number(s.Max))
	case Bool:
		return "true or false"
	case Strings:
		return "a list of strings"
	case String:
		if len(s.Enum) > 0 {
			return "one of " + strings.Join(s.Enum, ", ")
		}
	}
	return "a string"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// parse parses a value from text: a flag, the environment or a default.
func (s Setting) parse(text string) (any, error) {
	var value any
	var err error
	switch s.Kind {
	case Int, Duration:
		value, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	case Float:
		value, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
	case Bool:
		value, err = strconv.ParseBool(strings.TrimSpace(text))
	case Strings:
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		value = list
	default:
		value = text
	}
	if err != nil {
		return nil, s.wrongType(text)
	}
	return s.convert(value)
}

// convert converts a value as TOML decodes it (int64, float64, bool, string,
// []any) to the type of the setting's field, and checks that it is allowed.
func (s Setting) convert(value any) (any, error) {
	switch s.Kind {
	case Int, Duration:
		n, ok := value.(int64)
		if !ok {
			return nil, s.wrongType(value)
		}
		if err := s.inRange(float64(n)); err != nil {
			return nil, err
		}
		if s.Kind == Duration {
			return time.Duration(n) * time.Millisecond, nil
		}
		return int(n), nil
	case Float:
		if n, ok := value.(int64); ok {
			value = float64(n)
		}
		f, ok := value.(float64)
		if !ok {
			return nil, s.wrongType(value)
		}
		return f, s.inRange(f)
	case Bool:
		if b, ok := value.(bool); ok {
			return b, nil
		}
	case Strings:
		if list, ok := texts(value); ok {
			return list, nil
		}
	case String:
		if text, ok := value.(string); ok {
			return text, s.inEnum(text)
		}
	}
	return nil, s.wrongType(value)
}

func (s Setting) wrongType(value any) error {
	if s.Secret {
		return fmt.Errorf("a value of type %T is not allowed", value)
	}
	shown := fmt.Sprintf("%v", value)
	if text, ok := value.(string); ok {
		shown = strconv.Quote(text)
	}
	if len(shown) > 60 {
		shown = strings.ToValidUTF8(shown[:60], "") + "…"
	}
	return fmt.Errorf("%s is not allowed", shown)
}

func (s Setting) inRange(f float64) error {
	if math.IsNaN(f) || f < s.Min || s.Max != 0 && f > s.Max {
		if s.Secret {
			return errors.New("the value is out of range")
		}
		return fmt.Errorf("%s is out of range", number(f))
	}
	return nil
}

func (s Setting) inEnum(text string) error {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		return s.wrongType(text)
	}
	return nil
}

func texts(value any) ([]string, bool) {
	items, ok := value.([]any)
	if !ok {
		return nil, false
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// fields maps the key of a setting to its field of Config, by the tag "key".
var fields = func() map[string][]int {
	fields := map[string][]int{}
	all := reflect.TypeFor[Config]()
	for i := range all.NumField() {
		section := all.Field(i).Type
		for j := 0; section.Kind() == reflect.Struct && j < section.NumField(); j++ {
			fields[section.Field(j).Tag.Get("key")] = []int{i, j}
		}
	}
	return fields
}()

// field returns the value in a Config. parse must return its type; a test checks
// that it fits Kind.
func (s Setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(fields[s.Key])
}

// set stores a converted value in its field.
func (s Setting) set(c *Config, value any) { s.field(c).Set(reflect.ValueOf(value)) }

// get returns the value of the field as TOML would decode it.
func (s Setting) get(c *Config) any {
	switch value := s.field(c).Interface().(type) {
	case int:
		return int64(value)
	case time.Duration:
		return value.Milliseconds()
	case []string:
		return slices.Clone(value)
	default:
		return value
	}
}
