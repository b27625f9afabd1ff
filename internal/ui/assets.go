package ui

import "embed"

//go:embed assets
var assetFiles embed.FS
