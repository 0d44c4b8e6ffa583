package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// yamlFault describes why a text is not YAML. The parser's message only names the violated rule and, for indentation,
// often the wrong line.
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
		return fmt.Sprintf("line %d is indented by %d spaces, unlike every line above it that it could belong to; begin keys of one level in the same column", line, spaces)
	}
	return said + "; fix that line"
}

var yamlLine = regexp.MustCompile(`^line (\d+):`)

// lineOf returns the line number at the beginning of a parser's message, or 0.
func lineOf(said string) int {
	if m := yamlLine.FindStringSubmatch(said); m != nil {
		n, _ := strconv.Atoi(m[1]) // the pattern only matches numbers
		return n
	}
	return 0
}

// unclosed returns the opening quote of a line's value without a closing one, or "".
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

// misindented returns the first line of block YAML whose indentation matches no line to which it could belong, and its
// number of spaces. It returns 0 if there is none, or if the text contains anything but plain keys, values and lists.
func misindented(text string) (line, spaces int) {
	var levels []int // indentations to which the current line may belong
	opens := true    // the previous line may have deeper ones below it
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
