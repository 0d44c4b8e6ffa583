package console

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/config"
)

// ByURL is an agent that a command line gives by its URL alone. The configuration that is made of it has a name for it,
// which means nothing to a person, so messages name the URL.
type ByURL struct{ Name, URL string }

// Flag is the agent as --agent has it.
func (b ByURL) Flag() string { return b.Name + "=" + b.URL }

// Text returns a message about the agent without its name and without keys of a configuration that is not there.
func (b ByURL) Text(message string) string {
	url := WithoutParts(b.URL)
	return strings.NewReplacer(
		`The agent "`+b.Name+`" at `, "The agent at ", `Agent "`+b.Name+`" at `, "The agent at ", `agent "`+b.Name+`" at `, "agent at ",
		`The agent "`+b.Name+`"`, "The agent at "+url, `Agent "`+b.Name+`"`, "The agent at "+url, `agent "`+b.Name+`"`, "the agent at "+url,
		"Agent "+b.Name+" ", "The agent at "+url+" ", "agent "+b.Name+" ", "the agent at "+url+" ",
		"or set agents."+b.Name+".dialect", "or name its dialect in a configuration (agents.NAME.dialect)",
		"Check agents."+b.Name+".url", "Check the URL", "agents."+b.Name+".url", "the URL "+url, "agents."+b.Name+".", "agents.NAME.",
	).Replace(message)
}

// Error returns an error about the agent, worded as by Text.
func (b ByURL) Error(err error) error {
	var faults config.Complaints
	switch {
	case err == nil:
		return nil
	case errors.As(err, &faults) && len(faults) == 1 && faults[0].Key == "agents."+b.Name+".url":
		if meant := MeantURL(b.URL); meant != "" {
			return NotURL(b.URL, meant)
		}
		return Misuse(fmt.Sprintf("the URL %s: %s", WithoutParts(b.URL), b.Text(faults[0].Text)))
	case errors.As(err, &faults):
		return err
	}
	return &worded{b.Text(err.Error()), err}
}

// hostLike finds what is a URL but for its scheme: a host with a port or a path, or localhost.
var hostLike = regexp.MustCompile(`^([\w.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+(/.*)?|/.*)$|^localhost$`)

// MeantURL returns the URL that a text is meant to be which has no scheme; "" if it is none.
func MeantURL(text string) string {
	if hostLike.MatchString(text) {
		return "http://" + text
	}
	return ""
}

// NotURL returns the error of an argument that is meant to be a URL.
func NotURL(text, meant string) error {
	return Misuse(fmt.Sprintf("%q is not a URL; did you mean %s?", text, meant))
}

// worded is an error in other words.
type worded struct {
	text string
	err  error
}

func (w *worded) Error() string { return w.text }
func (w *worded) Unwrap() error { return w.err }
