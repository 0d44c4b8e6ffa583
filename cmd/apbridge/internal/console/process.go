// Package console has the common parts of the commands: the process, common flags, errors about command lines, and
// output to terminals. It knows no command.
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

// Process is the process of a command.
type Process struct {
	In       io.Reader // nil for none
	Out, Err io.Writer
	Environ  []string
	Args     []string // of the command line, during a command
	// Hangups starts receiving the signals for a reload. It is nil if there are none.
	Hangups func() <-chan os.Signal
}

// ExitMisuse is the exit code for an invalid command line. Other failures have 1.
const ExitMisuse = 2

// ExitInterrupted is the exit code after Ctrl-C, as in shells: 128 plus SIGINT.
const ExitInterrupted = 130

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	if errors.As(err, new(Misuse)) || errors.As(err, new(config.Problems)) {
		return ExitMisuse
	}
	return 1
}

// Ended is the exit code of a command that has already printed its error.
type Ended int

func (e Ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// sentence returns the text of an error without the leading code, which is for programs.
func sentence(err error) string {
	if e, ok := errors.AsType[*mapping.Error](err); ok {
		return strings.Replace(err.Error(), e.Code+": ", "", 1)
	}
	return err.Error()
}

// Refuse prints an error on one line, or one line for each problem of a configuration.
func (p *Process) Refuse(err error) {
	var faults config.Problems
	switch {
	case !errors.As(err, &faults):
		fmt.Fprintf(p.Err, "apbridge: %s\n", sentence(err))
	case len(faults) == 1:
		fmt.Fprintf(p.Err, "apbridge: invalid configuration: %s\n", faults[0])
	default:
		fmt.Fprintln(p.Err, "apbridge: invalid configuration:")
		for _, c := range faults {
			fmt.Fprintf(p.Err, "  %s\n", c)
		}
	}
}

// Unreached returns the error for a server that does not answer, unless Ctrl-C ended the wait.
func Unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Ended(ExitInterrupted)
	}
	return Misuse(err.Error())
}

// Variable returns the value of a variable in an environment, or "".
func Variable(environ []string, name string) string {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
