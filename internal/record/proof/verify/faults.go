// Package verify proves conversations and whole databases, and changes nothing.
//
// [Conversation] checks every record against its hash, the hash chain, and that the view
// leads to every message once. [Prove] does so for all conversations. Faults have codes;
// package doctor explains them.
package verify

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Findings collects faults.
type Findings struct{ List []store.Fault }

// Fault adds a fault.
func (f *Findings) Fault(code, node, format string, args ...any) {
	f.List = append(f.List, store.Fault{Code: code, Node: node, Detail: fmt.Sprintf(format, args...)})
}

// Take adds the faults that another function found.
func (f *Findings) Take(found []store.Fault, err error) error {
	f.List = append(f.List, found...)
	return err
}
