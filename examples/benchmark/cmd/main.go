// Command cmd runs challenges against an agent, through a bridge or directly:
//
//	go run ./examples/benchmark/cmd -url http://127.0.0.1:8080 -report report.json
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/apbridge/apbridge/examples/benchmark"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	code := benchmark.Command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
