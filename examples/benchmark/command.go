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

// Command is the program: it runs challenges as args say, prints to out, and
// returns its exit code. 0: nothing failed; 1: a challenge failed, or not all of
// them were tried; 2: there was nothing to run, or the report was not written.
func Command(ctx context.Context, args []string, out, complaints io.Writer) int {
	flags := flag.NewFlagSet("benchmark", flag.ContinueOnError)
	flags.SetOutput(complaints)
	o := Options{Progress: out, Key: os.Getenv("BENCHMARK_KEY")}
	flags.StringVar(&o.URL, "url", "http://127.0.0.1:8080", "server of the Agent Protocol v1; for one agent of a bridge add /agents/NAME")
	folder := flags.String("challenges", "", "folder with challenges (data.json files at any depth); none: those that come with the program")
	only := flags.String("only", "", "names of challenges, with commas between them; what they depend on is run too")
	file := flags.String("report", "", "file for the report as JSON")
	flags.DurationVar(&o.Cutoff, "cutoff", 0, "time limit of every challenge instead of its own")
	flags.DurationVar(&o.StepTimeout, "step-timeout", 0, "time limit of one request (default 5m)")
	flags.DurationVar(&o.PythonTimeout, "python-timeout", 0, "time limit of one Python program (default 30s)")
	flags.StringVar(&o.Python, "python", "", "Python interpreter (default python3)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(complaints, "benchmark: %q is no flag; say -url, -challenges or -only before it\n", flags.Arg(0))
		return 2
	}
	failed, err := run(ctx, o, *folder, *only, *file, out)
	switch {
	case err != nil:
		fmt.Fprintln(complaints, "benchmark:", err)
		return 2
	case failed:
		return 1
	}
	return 0
}

func run(ctx context.Context, o Options, folder, only, file string, out io.Writer) (failed bool, err error) {
	if o.Challenges, err = challengesIn(folder, only); err != nil {
		return false, err
	}
	report, err := Run(ctx, o)
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out)
	if err := report.Table(out); err != nil {
		return false, err
	}
	if file != "" {
		err = write(report, file)
	}
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

func write(report Report, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(report.JSON(f), f.Close())
}
