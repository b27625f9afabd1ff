package cli

// hasTerminal reports whether a console may have sent Ctrl-C. On Windows nothing else does.
func hasTerminal() bool { return true }
