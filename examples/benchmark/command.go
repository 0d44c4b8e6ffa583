package benchmark

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `Runs challenges in agbenchmark's format against an agent that serves the Agent
Protocol v1, directly or through a bridge, and prints a table of how they went.

  benchmark [-url URL] [-challenges FOLDER] [-only NAME,NAME] [-report FILE] …

`

const endings = `
BENCHMARK_KEY in the environment is sent as x-api-key. Ctrl-C stops; what is done
by then is reported, too.

Exit code: 0 nothing failed; 1 a challenge failed, or not all of them were tried;
2 the flags are wrong, nothing could be run, or the report could not be written.
`

// Command is the program: it runs challenges as args say, prints to out, and
// returns its exit code, see endings.
func Command(ctx context.Context, args []string, out, complaints io.Writer) int {
	c := command{Options: Options{Progress: out, Key: os.Getenv("BENCHMARK_KEY")}, out: out}
	if err := c.parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		fmt.Fprintf(complaints, "benchmark: %v; -h lists the flags\n", err)
		return 2
	}
	failed, err := c.run(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(complaints, "benchmark:", err)
		return 2
	case failed:
		return 1
	}
	return 0
}

// command is what the flags say.
type command struct {
	Options
	folder, only, report string
	out                  io.Writer
}

func (c *command) parse(args []string) error {
	flags := flag.NewFlagSet("benchmark", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are told by Command
	flags.StringVar(&c.URL, "url", "http://127.0.0.1:8080", "server of the Agent Protocol v1; for one agent of a bridge add /agents/NAME")
	flags.StringVar(&c.folder, "challenges", "", "folder with challenges (data.json files at any depth); none: those that come with the program")
	flags.StringVar(&c.only, "only", "", "names of challenges, with commas between them; what they depend on is run too")
	flags.StringVar(&c.report, "report", "", "file for the report as JSON")
	flags.DurationVar(&c.Cutoff, "cutoff", 0, "time limit of every challenge instead of its own")
	flags.DurationVar(&c.StepTimeout, "step-timeout", 0, "time limit of one request (default 5m)")
	flags.DurationVar(&c.PythonTimeout, "python-timeout", 0, "time limit of one Python program (default 30s)")
	flags.StringVar(&c.Python, "python", "", "Python interpreter (default python3; without it challenges that need one are skipped)")
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(c.out)
		fmt.Fprint(c.out, usage)
		flags.PrintDefaults()
		fmt.Fprint(c.out, endings)
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("%q is no flag; say -url, -challenges or -only before it", flags.Arg(0))
	}
	if err == nil && min(c.Cutoff, c.StepTimeout, c.PythonTimeout) < 0 {
		err = errors.New("-cutoff, -step-timeout and -python-timeout are times from 0 on, as 90s; 0 is the default")
	}
	return err
}

func (c *command) run(ctx context.Context) (failed bool, err error) {
	if c.Challenges, err = challengesIn(c.folder, c.only); err != nil {
		return false, err
	}
	file, err := openReport(c.report) // a report that cannot be written is told before an hour of work
	if err != nil {
		return false, err
	}
	report, err := Run(ctx, c.Options)
	if err != nil {
		return false, errors.Join(err, file.drop())
	}
	fmt.Fprintln(c.out)
	err = errors.Join(report.Table(c.out), file.write(report))
	return report.Count(Failed) > 0 || ctx.Err() != nil, err
}

func challengesIn(folder, only string) ([]Challenge, error) {
	list, err := Own()
	if folder != "" {
		if list, err = Load(os.DirFS(folder)); err != nil {
			err = fmt.Errorf("challenges in %s: %w", folder, err)
		}
	}
	if err != nil || only == "" {
		return list, err
	}
	return Select(list, strings.Split(only, ","))
}
