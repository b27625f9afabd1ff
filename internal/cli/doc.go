// Package cli is the command line of lcm.
//
// # Output
//
// Results go to standard output. Notes, warnings, progress and errors go to
// standard error. With --json the result is JSON only; bytes that are not UTF-8
// are written as base64, and an "encoding" field says so. An error is one line,
// followed by a second line with a hint if the user can do something about it.
// Colour and progress are for terminals only, and NO_COLOR turns colour off.
// Stored text is untrusted: its control characters never reach a terminal.
//
// # Help
//
// The long description of a command and its examples are in the directory help.
package cli
