// Package proxy stands between an agent program and its model, and keeps the requests
// below a budget without losing anything.
//
// A host such as Claude Code sends its whole history in each request, until it throws
// most of it away. The proxy replaces the oldest messages of a request with lcm's
// summaries of exactly those messages. Everything else passes through, byte for byte:
// other paths, answers and their streams, credentials, and every request below the
// budget. Headers that belong to one connection (Connection, Keep-Alive and the like)
// end at the proxy, as HTTP demands; Accept-Encoding of a request to a model becomes
// identity, so that the usage of the answer can be read.
//
// # One way in
//
// The proxy records nothing from requests. It reads the host's transcript, as import
// and hooks do, after each request and in the background. A request is laid over the
// stored summaries by the ids of its tool calls and by hashes of its texts (package
// overlay). The bodies are read and rewritten by package apiform.
//
// # Keeping the provider's cache
//
// The summaries that are shown stay the same until a request would be above the budget
// again. Before that, the next ones are made in the background: folding begins at foldAt
// of the budget and goes down to foldLevel. So a request that fits the model's window rarely waits
// for a fold, never longer than patience, and never for the first fold of a long history. A later run of
// the session begins with the summaries that it was shown last, which it reads before the transcript.
//
// A request that does not fit the window is held (hold.go) until a fold makes it small, as long as
// its host waits; then the host is asked to try again. It is sent only where no fold can come.
//
// # Failures
//
// Any other failure (an unknown shape, a broken database) sends the original request unchanged,
// and the log has the reason. Runs keep a count of them for `lcm run --list` and
// `lcm doctor`. They also count the requests that were sent above the budget, by reason,
// and those of clients that lcm does not know: without a transcript nothing can be folded.
//
// # Security
//
// The proxy listens on loopback. A request must name the proxy in its Host header, must
// not come from a web page, and must have the run's secret as the first part of its
// path. Credentials are passed on and neither stored nor logged. Requests with a
// subscription login pass unchanged unless the user allows more.
package proxy
