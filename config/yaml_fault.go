package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// yamlFault says in words why a text is no YAML. The parser names the rule that it gave up at and, for indentation,
// often another line than the one to mend.
func yamlFault(raw []byte, err error) string {
	said := strings.TrimPrefix(err.Error(), "yaml: ")
	for i, line := range strings.Split(string(raw), "\n") {
		if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			return fmt.Sprintf("line %d is indented by a tab; write spaces", i+1)
		}
	}
	if line := lineOf(said); strings.Contains(said, "unexpected end of stream") && line > 0 {
		if quote := unclosed(strings.Split(string(raw), "\n"), line-1); quote != "" {
			return fmt.Sprintf("line %d: a text begins with %s and does not end; write the other %s", line, quote, quote)
		}
	}
	if line, spaces := misindented(string(raw)); line > 0 {
		return fmt.Sprintf("line %d is indented by %d spaces, as no line above it that it could belong to; begin keys of one level in the same column", line, spaces)
	}
	return said + "; mend that line"
}

var yamlLine = regexp.MustCompile(`^line (\d+):`)

// lineOf is the line that a message of the parser begins with; 0: it names none.
func lineOf(said string) int {
	if m := yamlLine.FindStringSubmatch(said); m != nil {
		n, _ := strconv.Atoi(m[1]) // it is a number
		return n
	}
	return 0
}

// unclosed is the quote that the value in a line begins with and does not end with; "": there is none.
func unclosed(lines []string, at int) string {
	if at >= len(lines) {
		return ""
	}
	for _, quote := range []string{`"`, `'`} {
		if strings.Count(lines[at], quote)%2 == 1 {
			return quote
		}
	}
	return ""
}

// misindented returns the first line of block YAML that is indented as none above that it could belong to, and by how
// many spaces; 0 where there is none, and of a text with more than plain keys, values and lists, which is not read.
func misindented(text string) (line, spaces int) {
	var levels []int // of the lines that the present one may belong to
	opens := true    // the line before may have deeper ones below it
	for i, content := range strings.Split(text, "\n") {
		content, _, _ = strings.Cut(content, " #")
		content = strings.TrimRight(content, " \r")
		n := len(content) - len(strings.TrimLeft(content, " "))
		content = content[n:]
		if content == "" || content[0] == '#' || content == "---" {
			continue
		}
		if strings.ContainsAny(content, "[]{}|>&*") {
			return 0, 0
		}
		for len(levels) > 0 && levels[len(levels)-1] > n {
			levels, opens = levels[:len(levels)-1], false
		}
		if len(levels) == 0 || levels[len(levels)-1] < n {
			if !opens {
				return i + 1, n
			}
			levels = append(levels, n)
		}
		opens = strings.HasSuffix(content, ":") || strings.HasPrefix(content, "- ")
	}
	return 0, 0
}
