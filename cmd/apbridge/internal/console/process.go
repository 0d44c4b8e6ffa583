// Package console is what the commands share: the process around them, their flags, their refusals of what cannot be
// meant, and their output to terminals. It knows no command.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// Process is what a command may know of the process around it.
type Process struct {
	In       io.Reader // nil: there is none
	Out, Err io.Writer
	Environ  []string
	Args     []string // of the command line, once it runs
	// Hangups begins to take the signals that have serve reload; nil: there are none.
	Hangups func() <-chan os.Signal
}

// ExitMisuse is the exit code of a command line that cannot be meant as it is written; what was tried and failed ends
// with 1.
const ExitMisuse = 2

// ExitInterrupted is the exit code of what Ctrl-C stopped, as shells have it: 128 and SIGINT.
const ExitInterrupted = 130

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	if errors.As(err, new(Misuse)) || errors.As(err, new(config.Complaints)) {
		return ExitMisuse
	}
	return 1
}

// Ended is the error of a command that has said what there is to say: its exit code.
type Ended int

func (e Ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// sentence returns the text of an error without the code in front, which is for programs.
func sentence(err error) string {
	if e, ok := errors.AsType[*mapping.Error](err); ok {
		return strings.Replace(err.Error(), e.Code+": ", "", 1)
	}
	return err.Error()
}

// Complain prints an error on one line, or that of a configuration on a line for each complaint.
func (p *Process) Complain(err error) {
	var faults config.Complaints
	switch {
	case !errors.As(err, &faults):
		fmt.Fprintf(p.Err, "apbridge: %s\n", sentence(err))
	case len(faults) == 1:
		fmt.Fprintf(p.Err, "apbridge: the configuration cannot be used: %s\n", faults[0])
	default:
		fmt.Fprintln(p.Err, "apbridge: the configuration cannot be used:")
		for _, c := range faults {
			fmt.Fprintf(p.Err, "  %s\n", c)
		}
	}
}

// Unreached returns the error of a server that is not there, unless Ctrl-C ended the waiting for it.
func Unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Ended(ExitInterrupted)
	}
	return Misuse(err.Error())
}

// Variable returns a variable of an environment; "" where there is none.
func Variable(environ []string, name string) string {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
