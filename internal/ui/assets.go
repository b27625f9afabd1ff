package ui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"sync"
)

//go:embed assets
var assetFiles embed.FS

// assetVersion is a hash of all assets. It is part of their addresses, so that a
// browser may keep them for good: another version of the program has other
// addresses.
var assetVersion = sync.OnceValue(func() string {
	h := sha256.New()
	files, _ := fs.Glob(assetFiles, "assets/*") // the pattern is right
	for _, name := range files {
		data, _ := assetFiles.ReadFile(name) // it is embedded
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// asset returns the address of an asset.
func asset(name string) string { return "/assets/" + assetVersion() + "/" + name }

// serveAsset serves an asset. The address of another version has the asset of this
// one, and a browser does not keep it.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("version") == assetVersion() {
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, assetFiles, "assets/"+r.PathValue("name"))
}
