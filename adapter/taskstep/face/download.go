package face

import (
	"net/http"
	"path"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// describeDownload sets the headers of a file's bytes. A browser must never show what an agent wrote under the bridge's
// origin: always an attachment, never sniffed, and sandboxed should it be shown all the same.
func describeDownload(h http.Header, a *mapping.Artifact) {
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", attachment(path.Base(a.Path)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
}

// attachment is a Content-Disposition with the name twice (RFC 6266, section 4.3 and appendix D): in ASCII for old
// clients, and whole in the form of RFC 8187 for the others.
func attachment(name string) string {
	var b strings.Builder
	b.WriteString(`attachment; filename="`)
	for _, c := range name {
		if c < ' ' || c > '~' || strings.ContainsRune(`"\%`, c) {
			c = '_'
		}
		b.WriteRune(c)
	}
	b.WriteString(`"; filename*=UTF-8''`)
	for i := 0; i < len(name); i++ {
		if isAttrChar(name[i]) {
			b.WriteByte(name[i])
			continue
		}
		const hex = "0123456789ABCDEF"
		b.Write([]byte{'%', hex[name[i]>>4], hex[name[i]&15]})
	}
	return b.String()
}

// isAttrChar is attr-char of RFC 8187, section 3.2.1.
func isAttrChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$&+-.^_`|~", c) >= 0
}
