// Command apbridge is a reverse proxy and adapter between agents and the
// clients that want to use them: it speaks threads and runs (LangChain Agent
// Protocol, LangGraph Server) and tasks and steps (Agent Protocol v1) on both
// sides.
//
// This package has the commands. Package internal/bridge puts the program
// together.
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
	go func() {
		if awaitStop(signals, cancel) {
			os.Exit(1)
		}
	}()
	p := &program{out: consoleOf(os.Stdout), err: consoleOf(os.Stderr), environ: os.Environ()}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// bounce is how soon a second signal still belongs to the first: some
// supervisors signal a process and then its whole group.
const bounce = 500 * time.Millisecond

// awaitStop calls stop at the first signal and returns true at the second,
// which means: at once.
func awaitStop(signals <-chan os.Signal, stop func()) bool {
	<-signals
	stop()
	first := time.Now()
	for range signals {
		if time.Since(first) > bounce {
			return true
		}
	}
	return false
}

// program is what a command may know of the process around it.
type program struct {
	out, err io.Writer
	environ  []string
}

// run executes a command line and returns the exit code: 0, 1 for what failed,
// 2 for a command line that is wrong. It returns soon after ctx ends; commands
// that serve drain first.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		p.complain(err)
		if errors.As(err, new(misuse)) {
			return exitMisuse
		}
		return 1
	}
	return 0
}

func (p *program) complain(err error) {
	var faults config.Complaints
	if !errors.As(err, &faults) {
		fmt.Fprintf(p.err, "apbridge: %v\n", err)
		return
	}
	fmt.Fprintln(p.err, "apbridge: the configuration cannot be used:")
	for _, c := range faults {
		fmt.Fprintf(p.err, "  %s\n", c)
	}
}
