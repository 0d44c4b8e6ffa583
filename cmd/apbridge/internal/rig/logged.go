package rig

import (
	"encoding/base64"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LogText returns the whole log of a Configured bridge as JSON, with all levels, fields and causes.
func (b *Bridge) LogText() string {
	b.T.Helper()
	var text strings.Builder
	enc := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	for _, e := range b.Logs.All() {
		line, err := enc.EncodeEntry(e.Entry, e.Context)
		if err != nil {
			b.T.Fatal(err)
		}
		text.Write(line.Bytes())
		line.Free()
	}
	return text.String()
}

// LineWith returns the first line of a text that contains a mark, plain or within Base64, the form of bytes in logs and
// JSON, or "".
func LineWith(text, mark string) string {
	forms := append(inBase64(mark), mark)
	for line := range strings.SplitSeq(text, "\n") {
		for _, form := range forms {
			if strings.Contains(line, form) {
				return line
			}
		}
	}
	return ""
}

// inBase64 returns three texts, one of which is in the Base64 of any bytes that contain the mark.
func inBase64(mark string) (forms []string) {
	for before := range 3 {
		form := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), mark...))
		if (before+len(mark))%3 != 0 {
			form = form[:len(form)-1] // depends on the following byte
		}
		forms = append(forms, form[[]int{0, 2, 3}[before]:])
	}
	return forms
}
