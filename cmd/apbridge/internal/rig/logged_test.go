package rig

import (
	"encoding/base64"
	"fmt"
	"testing"
)

// TestLineWithFindsBytes checks that a mark in Base64 is found at any offset and with any bytes after it.
func TestLineWithFindsBytes(t *testing.T) {
	t.Parallel()
	for before := range 6 {
		for after := range 6 {
			bytes := fmt.Sprintf("%.*sthe mark%.*s", before, "abcdefgh", after, "ijklmnop")
			for what, line := range map[string]string{"plain": bytes, "encoded": base64.StdEncoding.EncodeToString([]byte(bytes))} {
				if LineWith("a line\n"+line+"\nanother", "the mark") != line {
					t.Errorf("%s: %q is not found", what, bytes)
				}
			}
		}
	}
	if got := LineWith("a line\nanother", "the mark"); got != "" {
		t.Errorf("found in %q", got)
	}
}
