package credential_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping/credential"
)

// The credentials in a header are its parts in every spelling, longest first, without short words.
func TestSet(t *testing.T) {
	t.Parallel()
	var all []string
	for name, value := range map[string]string{
		"Authorization": "Basic dXNlcjpodW50ZXIrMg==", "X-Key": `a"b&c/d`, "Cookie": "session=crumbs; a=b", "X-Mode": "on",
	} {
		all = append(all, credential.InHeader(name, value)...)
	}
	got := credential.SetOf(append(all, credential.InURL("http://me:pass%20word@host/"))...)
	for _, want := range []string{
		"Basic dXNlcjpodW50ZXIrMg==", "dXNlcjpodW50ZXIrMg==", "user:hunter+2", "hunter+2", "hunter%2B2", `a"b&c/d`, `a\"b&c/d`, `a\"b\u0026c/d`, "a%22b%26c%2Fd", "a&#34;b&amp;c/d", "crumbs",
		"pass word", "pass%20word", "pass+word",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
		if text := got.Hide("<" + want + ">"); text != "<"+credential.HiddenText+">" {
			t.Errorf("%q is shown as %q", want, text)
		}
	}
	for i, s := range got {
		if len(s) < 4 || i > 0 && len(got[i-1]) < len(s) {
			t.Errorf("%q at %d of %q", s, i, got)
		}
	}
	if none := credential.SetOf("", "abc", credential.InURL("::"), credential.InURL("http://host")); len(none) != 0 {
		t.Errorf("%q of nothing", none)
	}
}

// A cut at any position and either end never shows a part of a credential.
func TestCuts(t *testing.T) {
	t.Parallel()
	const key = "qzxjkvbw-QZXJKVBW"
	s := credential.SetOf(key)
	text := "denied: " + key + " é\x00\n\xff is no key"
	for most := range len(text) + 1 {
		for _, got := range []string{s.Excerpt(text, most), s.Ending(text, most), string(s.HideBytes(s.WithoutHalf([]byte(text[:most]))))} {
			for n := range len(key) - 2 {
				if strings.Contains(got, key[n:n+3]) {
					t.Errorf("cut at %d: %q", most, got)
				}
			}
		}
		if got := s.Excerpt(text, most); !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\n") || utf8.RuneCountInString(got) > most+1 {
			t.Errorf("cut at %d: %q", most, got)
		}
	}
	if got := s.Excerpt(text, 100); got != "denied: [hidden] é \uFFFD is no key" {
		t.Errorf("%q", got)
	}
	if got := s.Ending(text, 6); got != "…no key" {
		t.Errorf("%q", got)
	}
	if raw := []byte(text); string(s.HideBytes(raw)) == text || string(raw) != text {
		t.Errorf("%q was changed", raw)
	}
}
