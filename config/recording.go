package config

import (
	"os"
	"strings"
)

// Recording returns the file if the agent is a recording of another agent (url: replay:FILE).
func (a Agent) Recording() (file string, ok bool) { return strings.CutPrefix(a.URL, "replay:") }

// checkRecording refuses settings that only apply to a real agent.
func (a agentCheck) checkRecording(name, file string) {
	switch info, err := os.Stat(file); {
	case file == "":
		a.problem(a.key+".url", "names no recording; write replay:FILE, with a file written by apbridge run --record")
	case err != nil:
		a.problem(a.key+".url", "the recording %s cannot be read: %s", file, reason(err))
	case !info.Mode().IsRegular():
		a.problem(a.key+".url", "the recording %s is not a regular file", file)
	}
	if a.Passthrough {
		a.problem(a.key+".passthrough", "needs an agent, but agents.%s.url is a recording; leave it out", name)
	}
}
