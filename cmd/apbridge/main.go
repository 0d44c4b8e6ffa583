// Command apbridge is a reverse proxy and adapter between agents and the
// clients that want to use them: it speaks threads and runs (LangChain Agent
// Protocol, LangGraph Server) and tasks and steps (Agent Protocol v1) on both
// sides.
//
// This package has the commands. The program that they start, and the table of its dialects,
// is package internal/bridge.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/apbridge/apbridge/config"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	p := &program{in: os.Stdin, out: consoleOf(os.Stdout), err: consoleOf(os.Stderr), environ: os.Environ()}
	p.hangups = func() <-chan os.Signal { return hangups(cancel) }
	go func() {
		os.Exit(stopAtOnce(awaitStop(signals, cancel), p.err))
	}()
	os.Exit(p.run(ctx, os.Args[1:]))
}

// bounce is how soon a second signal still belongs to the first: some
// supervisors signal a process and then its whole group.
const bounce = 500 * time.Millisecond

// awaitStop calls stop at the first signal and returns the second one, which
// means: at once.
func awaitStop(signals <-chan os.Signal, stop func()) os.Signal {
	<-signals
	stop()
	first := time.Now()
	for s := range signals {
		if time.Since(first) > bounce {
			return s
		}
	}
	return nil
}

// stopAtOnce says what a second signal leaves behind; the result is the exit code.
func stopAtOnce(s os.Signal, w io.Writer) int {
	fmt.Fprintln(w, "apbridge: stopped at once. Runs under way are taken up by the next apbridge serve over the same database.")
	if s == os.Interrupt {
		return exitInterrupted
	}
	return 1
}

// program is what a command may know of the process around it.
type program struct {
	in       io.Reader // nil: there is none
	out, err io.Writer
	environ  []string
	args     []string // of the command line, once it runs
	// hangups begins to take the signals that have serve reload; nil: there are none.
	hangups func() <-chan os.Signal
}

// run executes a command line and returns the exit code: 0, 1 for what failed, 2 for a command line
// or a configuration that is wrong, 130 for what ctx interrupted, and what a command says of itself
// as ended. It returns soon after ctx ends; commands that serve drain first, and succeed.
func (p *program) run(ctx context.Context, args []string) int {
	p.args = args
	root := p.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		var code ended
		if errors.As(err, &code) {
			return int(code)
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			fmt.Fprintln(p.err, "apbridge: interrupted. What the bridge was asked for before may have been done.")
			return exitInterrupted
		}
		p.complain(err)
		return exitCode(err)
	}
	return 0
}

// exitCode is the exit code of an error.
func exitCode(err error) int {
	if errors.As(err, new(misuse)) || errors.As(err, new(config.Complaints)) {
		return exitMisuse
	}
	return 1
}

// ended is the error of a command that has said what there is to say: its exit code.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// complain says it on one line, or of a configuration on a line for each complaint.
func (p *program) complain(err error) {
	var faults config.Complaints
	switch {
	case !errors.As(err, &faults):
		fmt.Fprintf(p.err, "apbridge: %v\n", err)
	case len(faults) == 1:
		fmt.Fprintf(p.err, "apbridge: the configuration cannot be used: %s\n", faults[0])
	default:
		fmt.Fprintln(p.err, "apbridge: the configuration cannot be used:")
		for _, c := range faults {
			fmt.Fprintf(p.err, "  %s\n", c)
		}
	}
}
