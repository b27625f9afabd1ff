package cli

import "os"

// userSignals do not exist on Windows.
var userSignals []os.Signal

// hasTerminal reports whether a console may have sent Ctrl-C. On Windows nothing else does.
func hasTerminal() bool { return true }
