package store

import "github.com/lossless-context/lcm/llms"

// Refs returns the references to payloads in the parts of a message, tool results
// included.
func Refs(parts []llms.Part) []llms.Ref {
	var refs []llms.Ref
	for _, p := range parts {
		if p.Ref != nil {
			refs = append(refs, *p.Ref)
		}
		if p.Result != nil {
			refs = append(refs, Refs(p.Result.Output)...)
		}
	}
	return refs
}
