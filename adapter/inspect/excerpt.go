package inspect

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// excerpt is the first part of bytes from outside, as a page shows them: nothing invisible is in it.
type excerpt struct {
	Text string `json:"text"`
	Cut  bool   `json:"cut"` // there is more, or a line was cut
}

const (
	excerptBytes = 16 << 10
	excerptLine  = 2000 // bytes
	excerptHex   = 512  // bytes of what is no text
)

// excerptOf shows JSON indented, other text as it is, and the rest in hexadecimal.
func excerptOf(b []byte) excerpt {
	if !utf8.Valid(b) && !utf8.Valid(withoutHalfRune(b)) {
		return excerpt{hex.Dump(b[:min(len(b), excerptHex)]), len(b) > excerptHex}
	}
	if len(b) <= 4*excerptBytes && rawjson.Valid(b) {
		var indented bytes.Buffer
		if json.Indent(&indented, b, "", "  ") == nil {
			b = indented.Bytes()
		}
	}
	cut := len(b) > excerptBytes
	text := string(withoutHalfRune(b[:min(len(b), excerptBytes)]))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > excerptLine {
			lines[i], cut = string(withoutHalfRune([]byte(line[:excerptLine])))+"…", true
		}
	}
	return excerpt{page.Text(strings.Join(lines, "\n")), cut}
}

// withoutHalfRune is a text that may have been cut within a rune.
func withoutHalfRune(b []byte) []byte {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if !utf8.RuneStart(b[len(b)-n]) {
			continue
		}
		if !utf8.FullRune(b[len(b)-n:]) {
			return b[:len(b)-n]
		}
		break
	}
	return b
}
