package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// documentWidth is how many characters a line of a document may have.
const documentWidth = 150

// TestDocumentsAreOfOneWidth: no line of prose in a document is longer than others could be. Tables, code, headings,
// HTML and what has no place to break stay as they are.
func TestDocumentsAreOfOneWidth(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2:
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		found++
		raw, err := os.ReadFile(path)
		for _, line := range tooLong(string(raw)) {
			t.Errorf("%s: over %d characters: %s", path, documentWidth, line)
		}
		return err
	})
	if err != nil || found < 20 {
		t.Fatal(found, err)
	}
}

// tooLong are the lines of prose that could be broken and are not.
func tooLong(document string) (list []string) {
	code := false
	for line := range strings.Lines(document) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			code = !code
		}
		if !code && !strings.ContainsAny(line[:min(len(line), 1)], "|#<") && utf8.RuneCountInString(line) > documentWidth && breakable(line) {
			list = append(list, line)
		}
	}
	return list
}

// breakable reports whether a line has a place to break within the width: a space, after its mark, that is in no code
// span.
func breakable(line string) bool {
	text := strings.TrimLeft(line, " -*>0123456789.")
	span := false
	for i, r := range text {
		switch {
		case r == '`':
			span = !span
		case r == ' ' && !span && utf8.RuneCountInString(text[:i]) <= documentWidth:
			return true
		}
	}
	return false
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 40)
	for name, c := range map[string]struct {
		document string
		want     int
	}{
		"prose":              {"short\n\n" + long + "\n", 1},
		"an item, twice":     {"- " + long + "\n1. " + long, 2},
		"a table":            {"| " + long + " |\n", 0},
		"code":               {"```sh\n" + long + "\n```\n" + long, 1},
		"a heading":          {"# " + long + "\n", 0},
		"one code span":      {"- `" + long + "`\n", 0},
		"one word":           {strings.Repeat("x", 200) + "\n", 0},
		"a span behind more": {"see `" + long + "`\n", 1},
		"just as wide":       {strings.Repeat("é", documentWidth-2) + " é", 0},
	} {
		if got := tooLong(c.document); len(got) != c.want {
			t.Errorf("%s: %q, want %d", name, got, c.want)
		}
	}
}
