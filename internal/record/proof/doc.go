// Package proof is the folder of what proves a record: seal has a hash of each row's
// columns, verify walks from the views to every message.
package proof
