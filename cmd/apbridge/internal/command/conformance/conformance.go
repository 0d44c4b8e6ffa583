// Package conformance is the command that checks servers against the protocols. Package main adds it. The rules are in
// package internal/conformance. Start reading at Command.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/doctor"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command returns the command apbridge conformance.
func Command(p *console.Process) *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance URL",
		Short: "Check a server against its protocol specifications",
		Long: `conformance checks whether the server at URL follows the documents of its protocols. Use it
to test a server that you are writing or want to put behind the bridge. Each failed check is
printed with its level (must, should, may), its source, the request and the response.
It creates tasks, threads, items and up to about fifteen short runs, and deletes
everything that the protocols can delete.
Exit code: 0 if every must passed, 1 if one failed, 2 if nothing could be checked.`,
		Example: `  apbridge conformance http://127.0.0.1:8080
  apbridge conformance http://127.0.0.1:8000 --dialect v1 --badge conformance.svg
  apbridge conformance http://127.0.0.1:2024 --agent chat --only langgraph.runs -o json
  apbridge conformance --list --dialect streaming`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), p, f, args) },
	}
	f.add(cmd.Flags())
	return cmd
}

// conformanceFlags are the flags of the command.
type conformanceFlags struct {
	dialects, only       []string
	list                 bool
	agent, key           string
	headers              []string
	timeout              time.Duration
	output, junit, badge string
}

func (f *conformanceFlags) add(set *pflag.FlagSet) {
	set.StringSliceVar(&f.dialects, "dialect", nil, "comma-separated `DIALECTS` to check (default: those that the server speaks): "+strings.Join(suiteNames(), ", "))
	set.StringSliceVar(&f.only, "only", nil, "comma-separated `IDS` of checks to run, or beginnings of ids up to a dot")
	set.BoolVar(&f.list, "list", false, "list the checks with their sources and exit")
	set.StringVar(&f.agent, "agent", "", "`NAME` of the agent or assistant to run (default: the first that the server lists)")
	set.StringVar(&f.key, "key", "", "`KEY` to send as x-api-key; env:NAME reads it from the environment (default $BENCHMARK_KEY)")
	set.StringArrayVar(&f.headers, "header", nil, "`HEADER` of every request, as 'Name: value'; repeatable; env:NAME as the value reads it from the environment")
	set.DurationVar(&f.timeout, "timeout", time.Minute, "time limit of one check")
	set.StringVarP(&f.output, "output", "o", "text", "`FORMAT` of the output: text or json")
	set.StringVar(&f.junit, "junit", "", "write a JUnit XML report to this `FILE`")
	set.StringVar(&f.badge, "badge", "", "write a badge to this `FILE`: a picture (.svg) or a shields.io endpoint (.json)")
}

func suiteNames() (names []string) {
	for _, s := range conformance.Suites() {
		names = append(names, s.Name)
	}
	return names
}

func run(ctx context.Context, p *console.Process, f conformanceFlags, args []string) error {
	chosen, err := f.chosen()
	if err != nil {
		return console.Misuse(err.Error())
	}
	if f.list {
		f.print(p.Out, chosen)
		return nil
	}
	server, err := f.server(p.Environ, args)
	if err != nil {
		return console.Misuse(err.Error())
	}
	files, err := f.open()
	if err != nil {
		return console.Misuse(err.Error())
	}
	if chosen, err = thatAreSpoken(ctx, server, chosen, len(f.dialects) > 0 || len(f.only) > 0); err != nil {
		return errors.Join(console.Unreached(ctx, err), files.drop())
	}
	r := conformance.Run(ctx, conformance.Options{Server: server, Suites: chosen, Unspoken: f.unspoken(chosen), Wanted: f.wants, Watch: f.watch(p.Out)})
	if err := errors.Join(f.printReport(p.Out, r), files.finish(r)); err != nil {
		return err
	}
	return conformanceExit(r)
}

// chosen returns the dialects of --dialect. Without that flag it returns those of --only, or all.
func (f *conformanceFlags) chosen() (list []check.Suite, err error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	for _, s := range conformance.Suites() {
		named := slices.Contains(f.dialects, s.Name)
		if len(f.dialects) == 0 || named {
			if len(f.only) == 0 || slices.ContainsFunc(s.Begin(), f.wants) {
				list = append(list, s)
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("flags --dialect and --only: no check matches both")
	}
	return list, nil
}

// unspoken returns the requested dialects in which the server was not checked.
func (f *conformanceFlags) unspoken(checked []check.Suite) (names []string) {
	if len(f.dialects) > 0 || len(f.only) > 0 {
		return nil
	}
	return slices.DeleteFunc(suiteNames(), func(name string) bool {
		return slices.ContainsFunc(checked, func(s check.Suite) bool { return s.Name == name })
	})
}

// check rejects invalid flags before any request is sent.
func (f *conformanceFlags) check() error {
	for _, name := range f.dialects {
		if !slices.Contains(suiteNames(), name) {
			return fmt.Errorf("flag --dialect: %q is not one of %s", name, strings.Join(suiteNames(), ", "))
		}
	}
	for _, id := range f.only {
		if !known(id) {
			return fmt.Errorf("flag --only: no check has the id or prefix %q; to list the checks: apbridge conformance --list", id)
		}
	}
	switch {
	case f.timeout <= 0:
		return errors.New("flag --timeout: must be above 0, such as 90s")
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("flag --output: %q is not one of text, json", f.output)
	case f.badge != "" && !strings.HasSuffix(f.badge, ".svg") && !strings.HasSuffix(f.badge, ".json"):
		return fmt.Errorf("flag --badge: %q ends neither in .svg nor in .json", f.badge)
	}
	return nil
}

// known reports whether --only may match a check with this id.
func known(id string) bool {
	f := conformanceFlags{only: []string{id}}
	for _, s := range conformance.Suites() {
		if slices.ContainsFunc(s.Begin(), f.wants) {
			return true
		}
	}
	return false
}

// wants reports whether --only matches a check.
func (f *conformanceFlags) wants(c check.Check) bool {
	return len(f.only) == 0 || slices.ContainsFunc(f.only, func(id string) bool { return c.ID == id || strings.HasPrefix(c.ID, id+".") })
}

func (f *conformanceFlags) print(w io.Writer, suites []check.Suite) {
	for _, s := range suites {
		for _, c := range s.Begin() {
			if f.wants(c) {
				fmt.Fprintf(w, "%s (%s): %s\n  %s\n", c.ID, c.Level, c.Says, c.Cites)
			}
		}
	}
}

// server returns the server of the command line.
func (f *conformanceFlags) server(environ, args []string) (*check.Server, error) {
	if len(args) == 0 {
		return nil, errors.New("no URL given; write apbridge conformance URL, for example http://127.0.0.1:8080")
	}
	base, err := serverBase(args[0])
	if err != nil {
		return nil, err
	}
	header, err := f.header(environ)
	if err != nil {
		return nil, err
	}
	return &check.Server{Base: base, Header: header, Agent: f.agent, Timeout: f.timeout}, nil
}

// serverBase returns a server's URL without the path of version 1, which is often copied with it.
func serverBase(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is not the URL of a server, such as http://127.0.0.1:8080", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q may have only a host and a path; pass a key with --key", u.Redacted())
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	for _, tail := range []string{"/tasks", "/agent", "/ap/v1"} {
		base = strings.TrimSuffix(base, tail)
	}
	return base, nil
}

// thatAreSpoken returns the dialects to check: the requested ones, or all that the server speaks if none were
// requested.
func thatAreSpoken(ctx context.Context, server *check.Server, chosen []check.Suite, asked bool) ([]check.Suite, error) {
	if err := server.Reach(ctx, doctor.Patience); err != nil {
		return nil, stranger(ctx, server.Base, err)
	}
	if asked {
		return chosen, nil
	}
	list := conformance.Spoken(ctx, server)
	switch {
	case len(list) > 0:
		return list, nil
	case server.Denied():
		return nil, fmt.Errorf("the server at %s requires a key; pass it with --key, or another header with --header", server.Base)
	}
	return nil, stranger(ctx, server.Base, errors.New("it speaks none of "+strings.Join(suiteNames(), ", ")))
}

// stranger describes what answers at a URL, in the style of doctor.
func stranger(ctx context.Context, base string, err error) error {
	agent := config.Agent{URL: base, Dialect: "auto"}
	_, found := doctor.Detected(ctx, doctor.Upstream("agent", agent, config.Limits{}))
	if found == nil {
		return fmt.Errorf("the server at %s cannot be checked: %w", base, err)
	}
	return console.ByURL{Name: "agent", URL: base}.Error(doctor.Unfit(found, doctor.Hints(ctx, "agent", agent, config.Limits{}, found)))
}

// watch prints each finished check, unless the output is JSON.
func (f *conformanceFlags) watch(w io.Writer) func(check.Result) {
	return func(r check.Result) {
		if f.output == "text" {
			fmt.Fprintf(w, "%-7s  %-6s  %s\n", r.Status, r.Level, r.ID)
		}
	}
}

func (f *conformanceFlags) printReport(w io.Writer, r conformance.Report) error {
	if f.output == "json" {
		return r.JSON(w)
	}
	fmt.Fprintln(w)
	return r.Table(w)
}

// conformanceExit returns the exit code as an error.
func conformanceExit(r conformance.Report) error {
	switch {
	case r.Interrupted:
		return console.Ended(console.ExitInterrupted)
	case r.Count(check.Failed, check.Must) > 0:
		return console.Ended(1)
	case !r.Conforms():
		return console.Ended(console.ExitMisuse)
	}
	return nil
}
