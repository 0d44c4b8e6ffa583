package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// commentWidth is how many columns a line of a comment may have, with four for a tab.
const commentWidth = 120

var wrapComments = flag.Bool("wrap", false, "TestCommentsAreOfOneWidth wraps what it would complain of")

// TestCommentsAreOfOneWidth: paragraphs of comments that stand on lines of their own are filled up to one width, as
// gofmt leaves them. What godoc shows as code, lists and headings keeps its lines, but for the paragraphs of a list.
func TestCommentsAreOfOneWidth(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "node_modules"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		found++
		return commentsOf(t, path)
	})
	if err != nil || found < 1000 {
		t.Fatal(found, err)
	}
}

func commentsOf(t *testing.T, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	is := string(raw)
	want, err := wrapped(is)
	if err != nil || is == want {
		return err
	}
	if *wrapComments {
		return os.WriteFile(path, []byte(want), 0o644)
	}
	have, wanted := strings.Split(is, "\n"), strings.Split(want, "\n")
	for i, line := range have {
		if i >= len(wanted) || line != wanted[i] {
			t.Errorf("%s:%d: comments are %d columns wide (go test ./cmd/apbridge -run %s -wrap)", path, i+1, commentWidth, t.Name())
			return nil
		}
	}
	return nil
}

// wrapped is a file with its comments at one width.
func wrapped(source string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	lines := strings.Split(source, "\n")
	for _, group := range slices.Backward(file.Comments) {
		for _, own := range slices.Backward(blocks(files, lines, group)) {
			lines = slices.Replace(lines, own.first, own.last, fill(lines[own.first:own.last])...)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// block is some lines of a file, which begin with 0.
type block struct{ first, last int }

// blocks are the lines of a group that have nothing but a comment on them.
func blocks(files *token.FileSet, lines []string, group *ast.CommentGroup) (list []block) {
	for _, c := range group.List {
		n := files.Position(c.Pos()).Line - 1
		if !strings.HasPrefix(strings.TrimLeft(lines[n], "\t"), "//") {
			continue
		}
		if k := len(list) - 1; k >= 0 && list[k].last == n {
			list[k].last++
		} else {
			list = append(list, block{n, n + 1})
		}
	}
	return list
}

var (
	// mark begins a point of a list as gofmt writes it.
	mark = regexp.MustCompile(`^//(   ?- | +[0-9]+\. )`)
	// kept is no prose: a directive, a heading, code and the output of an example.
	kept = regexp.MustCompile(`^//(go:|nolint|line |export |$| # | *Output:| Deprecated:|\t| {2,}|[^ ])`)
)

// fill fills the paragraphs of one comment.
func fill(lines []string) (out []string) {
	indent := lines[0][:strings.Index(lines[0], "//")]
	for i := 0; i < len(lines); {
		text := strings.TrimPrefix(lines[i], indent)
		head, hang := "// ", "// "
		if m := mark.FindString(text); m != "" {
			head, hang = m, "//"+strings.Repeat(" ", len(m)-2)
		} else if kept.MatchString(text) {
			out = append(out, lines[i])
			i++
			continue
		}
		words := strings.Fields(text[len(head):])
		for i++; i < len(lines) && continues(strings.TrimPrefix(lines[i], indent), hang); i++ {
			words = append(words, strings.Fields(strings.TrimPrefix(lines[i], indent)[2:])...)
		}
		out = append(out, paragraph(indent, head, hang, words)...)
	}
	return out
}

// continues reports whether a line belongs to the paragraph before it.
func continues(text, hang string) bool {
	if mark.MatchString(text) || !strings.HasPrefix(text, hang) || len(text) == len(hang) {
		return false
	}
	return text[len(hang)] != ' ' && text[len(hang)] != '\t' && (hang != "// " || !kept.MatchString(text))
}

func paragraph(indent, head, hang string, words []string) (out []string) {
	line := indent + head
	for i, word := range words {
		if i > 0 && columns(line)+1+utf8.RuneCountInString(word) > commentWidth {
			out, line = append(out, strings.TrimRight(line, " ")), indent+hang+word
		} else if i > 0 {
			line += " " + word
		} else {
			line += word
		}
	}
	return append(out, line)
}

func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

func TestWrapped(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 30)) // 149 columns
	first, rest := strings.TrimSpace(strings.Repeat("word ", 23)), strings.TrimSpace(strings.Repeat("word ", 7))
	for name, c := range map[string][2]string{
		"long":               {"// " + long, "// " + first + "\n// " + rest},
		"short lines":        {"// one\n// two", "// one two"},
		"paragraphs":         {"// one\n//\n// two", "// one\n//\n// two"},
		"code":               {"// one:\n//\n//\ttwo\n//\tthree", "// one:\n//\n//\ttwo\n//\tthree"},
		"a list":             {"// one:\n//   - two\n//     three\n//   - four", "// one:\n//   - two three\n//   - four"},
		"a heading":          {"// # One\n//\n// two", "// # One\n//\n// two"},
		"a directive":        {"//go:build linux\n\n// one\n// two", "//go:build linux\n\n// one two"},
		"within a function":  {"func f() {\n\t// one\n\t// two\n}", "func f() {\n\t// one two\n}"},
		"behind code":        {"var a = 1 // one\n// two\nvar b = 2", "var a = 1 // one\n// two\nvar b = 2"},
		"a string":           {"var a = `\n// one\n// two`", "var a = `\n// one\n// two`"},
		"as wide as may be":  {"// " + first + " xx", "// " + first + " xx"},
		"one column too far": {"// " + first + " xxx", "// " + first + "\n// xxx"},
	} {
		const begin = "package p\n\n"
		got, err := wrapped(begin + c[0] + "\n")
		if err != nil || got != begin+c[1]+"\n" {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}
