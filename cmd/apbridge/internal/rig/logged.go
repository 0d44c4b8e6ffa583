package rig

import (
	"encoding/base64"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LogText returns all that a Configured bridge has logged, at every level, as a log of JSON has it: fields and causes
// included.
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

// LineWith returns the first line of a text that has a mark, plain or within bytes in Base64, as logs and JSON have
// bytes; "": none has.
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

// inBase64 are the three texts of which one is in Base64 of whatever bytes have the mark somewhere.
func inBase64(mark string) (forms []string) {
	for before := range 3 {
		form := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), mark...))
		if (before+len(mark))%3 != 0 {
			form = form[:len(form)-1] // of what follows, too
		}
		forms = append(forms, form[[]int{0, 2, 3}[before]:])
	}
	return forms
}
