package ui

import (
	"crypto/rand"
	"embed"
	"sync"
)

//go:embed assets
var assetFiles embed.FS

// run is part of the addresses of assets: a browser keeps them until the program ends.
var run = sync.OnceValue(rand.Text)

// asset returns the address of an asset.
func asset(name string) string { return "/assets/" + run() + "/" + name }
