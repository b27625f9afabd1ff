package rows

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Conditions on the flags of a message. Their numbers are part of the statements and not
// parameters, because indexes are partial on them.
var (
	NotErased = NoFlag(store.FlagErased)
	// IsBookkeeping is [store.Flag.Bookkeeping] without FlagEcho; 3 is the role system.
	IsBookkeeping = fmt.Sprintf(`(%s OR (flags & %d = %d AND role = 3))`, AnyFlag(store.FlagSynthetic), store.FlagHidden|store.FlagUnknown, store.FlagHidden)
)

// AnyFlag is the condition that a message has one of some flags.
func AnyFlag(f store.Flag) string { return fmt.Sprintf(`flags & %d <> 0`, f) }

// NoFlag is the condition that a message has none of some flags.
func NoFlag(f store.Flag) string { return fmt.Sprintf(`flags & %d = 0`, f) }

// VectorBlockSize is how many message numbers a row of vector_blocks has.
const VectorBlockSize = 1024
