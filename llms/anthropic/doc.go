// Package anthropic runs Claude models on the official SDK, behind
// [llms.Model].
//
// Any server that speaks the Messages API will do: Config.BaseURL says where
// it is. Rate limits and server errors before the first word are retried with
// back-off, by the SDK, unless the server asks to wait longer than 30 seconds;
// what is left is an [llms.Error] whose class says what can be done. A
// connection on which not a byte comes is given up after Config.IdleTimeout.
//
// The key comes from the config or, for Anthropic's own server, from
// ANTHROPIC_API_KEY. It is sent to the server and appears nowhere else. The
// SDK's own environment variables and profiles are not read: what is
// configured is what happens.
//
// It is a package of its own because the SDK adds megabytes to a binary.
package anthropic
