// Command apbridge is a reverse proxy and adapter between agents and clients. On both sides it speaks threads and runs
// (LangChain Agent Protocol, LangGraph Server), tasks and steps (Agent Protocol v1), and A2A.
//
// This package has the command line. Each command is a package below internal/command. Package internal/bridge
// assembles the program that they start and has the table of dialects.
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

	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/serve"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	p := &program{console.Process{In: os.Stdin, Out: console.Of(os.Stdout), Err: console.Of(os.Stderr), Environ: os.Environ()}}
	p.Hangups = func() <-chan os.Signal { return serve.Hangups(cancel) }
	go func() {
		os.Exit(stopAtOnce(awaitStop(signals, cancel), p.Err))
	}()
	os.Exit(p.run(ctx, os.Args[1:]))
}

// bounce is the time within which a second signal belongs to the first. Some supervisors signal a process and then its
// whole group.
const bounce = 500 * time.Millisecond

// awaitStop calls stop at the first signal and returns the second one, at which the process exits at once.
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

// stopAtOnce prints the consequences of a second signal, and returns the exit code.
func stopAtOnce(s os.Signal, w io.Writer) int {
	fmt.Fprintln(w, "apbridge: stopped at once. The next apbridge serve with the same database continues the active runs.")
	if s == os.Interrupt {
		return console.ExitInterrupted
	}
	return 1
}

// program holds the commands and their process.
type program struct{ console.Process }

// run executes a command line and returns the exit code: 0, 1 for a failure, 2 for an invalid command line or
// configuration, 130 after an interruption by ctx, or a code that the command returned as console.Ended. It returns
// soon after ctx ends. Commands that serve drain first and succeed.
func (p *program) run(ctx context.Context, args []string) int {
	p.Args = args
	root := p.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		var code console.Ended
		if errors.As(err, &code) {
			return int(code)
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			fmt.Fprintln(p.Err, "apbridge: interrupted. Requests that were already sent may have been executed.")
			return console.ExitInterrupted
		}
		p.Refuse(err)
		return console.ExitCode(err)
	}
	return 0
}
