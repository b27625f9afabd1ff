package explore

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"image"
	_ "image/gif"  // registers the format with image.DecodeConfig
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"strings"
)

// imageFormat names the format of an image by its first bytes, or "".
func imageFormat(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "PNG"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "JPEG"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "GIF"
	case len(head) >= 12 && bytes.HasPrefix(head, []byte("RIFF")) && string(head[8:12]) == "WEBP":
		return "WebP"
	}
	return ""
}

var imageType = map[string]string{"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WebP": "image/webp"}

// image describes an image: its format and its dimensions.
func (e *explorer) image() {
	format := imageFormat(e.data)
	width, height := 0, 0
	if format == "WebP" {
		width, height = webpSize(e.data)
	} else if c, _, err := image.DecodeConfig(bytes.NewReader(e.data)); err == nil {
		width, height = c.Width, c.Height
	}
	e.title(format + " image")
	if width > 0 && height > 0 {
		e.out.addf("%d × %d pixels", width, height)
		return
	}
	e.out.add("dimensions unknown: the header is damaged or cut off")
}

// webpSize reads the dimensions from the first chunk of a WebP file.
func webpSize(b []byte) (int, int) {
	if len(b) < 30 {
		return 0, 0
	}
	switch string(b[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return int(uint24(b[24:])) + 1, int(uint24(b[27:])) + 1
	}
	return 0, 0
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

// magic tells a format by its first bytes.
type magic struct {
	prefix, name, mime string
}

var magics = []magic{
	{"%PDF-", "PDF document", "application/pdf"}, {"PK\x03\x04", "ZIP archive", "application/zip"},
	{"\x1f\x8b", "gzip data", "application/gzip"}, {"\x28\xb5\x2f\xfd", "Zstandard data", "application/zstd"},
	{"BZh", "bzip2 data", "application/x-bzip2"}, {"\xfd7zXZ\x00", "XZ data", "application/x-xz"},
	{"7z\xbc\xaf\x27\x1c", "7-Zip archive", "application/x-7z-compressed"}, {"\x7fELF", "ELF executable", ""},
	{"\xcf\xfa\xed\xfe", "Mach-O executable", ""}, {"\xca\xfe\xba\xbe", "Java class or Mach-O executable", ""},
	{"MZ", "Windows executable", ""}, {"SQLite format 3\x00", "SQLite database", "application/vnd.sqlite3"},
	{"\x00asm", "WebAssembly module", "application/wasm"}, {"PAR1", "Parquet file", "application/vnd.apache.parquet"},
	{"OggS", "Ogg media", "application/ogg"}, {"ID3", "MP3 audio", "audio/mpeg"}, {"fLaC", "FLAC audio", "audio/flac"},
	{"RIFF", "RIFF media", ""}, {"\xff\xfe", "UTF-16 text", "text/plain"}, {"\xfe\xff", "UTF-16 text", "text/plain"},
	{"BM", "BMP image", "image/bmp"}, {"II*\x00", "TIFF image", "image/tiff"}, {"MM\x00*", "TIFF image", "image/tiff"},
	{"wOFF", "WOFF font", "font/woff"}, {"wOF2", "WOFF2 font", "font/woff2"},
}

// findMagic looks for a known beginning, and for the two formats whose mark
// stands further in.
func findMagic(data []byte) (magic, bool) {
	switch {
	case len(data) > 262 && string(data[257:262]) == "ustar":
		return magic{name: "tar archive", mime: "application/x-tar"}, true
	case len(data) > 12 && string(data[4:8]) == "ftyp":
		return magic{name: "MP4 or QuickTime media", mime: "video/mp4"}, true
	}
	for _, m := range magics {
		if bytes.HasPrefix(data, []byte(m.prefix)) {
			return m, true
		}
	}
	return magic{}, false
}

// binary describes bytes that are not text: their format, if the beginning tells it,
// and the beginning in hexadecimal.
func (e *explorer) binary() {
	name := "binary data"
	if m, ok := findMagic(e.data); ok {
		name = m.name
	}
	e.title(name)
	head := e.data[:min(len(e.data), 32)]
	var groups []string
	for len(head) > 0 {
		n := min(len(head), 4)
		groups = append(groups, hex.EncodeToString(head[:n]))
		head = head[n:]
	}
	e.out.add("begins: " + strings.Join(groups, " "))
}
