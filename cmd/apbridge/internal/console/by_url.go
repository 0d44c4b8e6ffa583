package console

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/config"
)

// ByURL is an agent that is given on the command line by its URL. Its name in the derived configuration means nothing
// to the user, so messages contain the URL instead.
type ByURL struct{ Name, URL string }

// Flag returns the agent in the form of --agent.
func (b ByURL) Flag() string { return b.Name + "=" + b.URL }

// Text returns a message about the agent without its name and without configuration keys.
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

// Error returns an error about the agent with the message of Text.
func (b ByURL) Error(err error) error {
	var faults config.Problems
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

// hostLike matches a URL without a scheme: a host with a port or a path, or localhost.
var hostLike = regexp.MustCompile(`^([\w.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+(/.*)?|/.*)$|^localhost$`)

// MeantURL returns the URL if text is a URL without a scheme, or else "".
func MeantURL(text string) string {
	if hostLike.MatchString(text) {
		return "http://" + text
	}
	return ""
}

// NotURL returns the error for an argument that was meant to be a URL.
func NotURL(text, meant string) error {
	return Misuse(fmt.Sprintf("%q is not a URL; did you mean %s?", text, meant))
}

// worded is an error with another message.
type worded struct {
	text string
	err  error
}

func (w *worded) Error() string { return w.text }
func (w *worded) Unwrap() error { return w.err }
