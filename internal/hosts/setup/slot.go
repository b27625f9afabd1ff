package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
)

// Slot is the entry of a place in a JSON file that one plugin has: lcm, unless another plugin
// has it and [Options.Replace] is not set. builtin is the program's own, which gives way.
func Slot(file, builtin string, o Options, path ...string) Entry {
	var within [][]string
	for n := 1; n < len(path); n++ {
		within = append(within, path[:n])
	}
	holder := func(src []byte) (name string) {
		if d, err := edit.ParseJSON(src); err == nil {
			_ = json.Unmarshal(d.Get(path...), &name) // an unknown form is another's
		}
		return name
	}
	return Entry{path: file, what: "context engine",
		holder: func(src []byte) string {
			if name := holder(src); name != builtin && name != slotName {
				return name
			}
			return ""
		},
		put: func(src []byte) ([]byte, error) {
			if name := holder(src); name == slotName || name != "" && name != builtin && !o.Replace {
				return src, nil
			}
			d, err := edit.ParseJSON(src)
			if err == nil {
				err = d.Set(slotName, path...)
			}
			if err != nil {
				return nil, err
			}
			return d.Bytes(), nil
		},
		cut: func(src []byte) ([]byte, error) {
			if holder(src) != slotName {
				return src, nil
			}
			return cutJSON(src, within, func(d *edit.JSON) error { return d.Cut(path...) })
		},
	}
}

// slotName is the name of lcm's plugin.
const slotName = "lcm"

// Listed is the entry of lcm's plugin in a list of a JSON file. It is added to a list that has
// other names: one that is empty or missing allows everything.
func Listed(file string, path ...string) Entry {
	names := func(d *edit.JSON) (all []string) {
		_ = json.Unmarshal(d.Get(path...), &all) // what is no list has no names
		return all
	}
	return Entry{path: file, what: "plugin",
		put: func(src []byte) ([]byte, error) {
			d, err := edit.ParseJSON(src)
			if err != nil {
				return nil, err
			}
			if all := names(d); len(all) > 0 && !slices.Contains(all, slotName) {
				err = d.Append(slotName, path...)
				return d.Bytes(), err
			}
			return src, nil
		},
		cut: func(src []byte) ([]byte, error) {
			return cutJSON(src, nil, func(d *edit.JSON) error {
				if i := slices.Index(names(d), slotName); i >= 0 && len(names(d)) > 1 {
					return d.Cut(append(slices.Clone(path), strconv.Itoa(i))...)
				}
				return nil
			})
		},
	}
}

// Retired returns an entry that setup removes: an older lcm wrote it.
func Retired(e Entry) Entry {
	e.put, e.commands = e.cut, nil
	return e
}

// Holder returns the plugin that has the place which lcm would take, or "".
func Holder(h Host, o Options) string {
	for _, e := range h.Entries(h.Settings(o.Machine), o) {
		if e.holder == nil {
			continue
		}
		if src, err := os.ReadFile(e.path); err == nil && e.holder(src) != "" {
			return e.holder(src)
		}
	}
	return ""
}

// heldNote tells that another plugin keeps its place.
func heldNote(title, host, name string) string {
	return fmt.Sprintf("the context engine of %s is %s, and stays it: `lcm setup %s --replace` puts lcm in its place", title, strconv.Quote(name), host)
}
