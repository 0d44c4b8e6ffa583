// Package bench implements the command that judges agents by challenges. Package main adds it. This package starts the
// agent and a bridge for it; package judge does the judging. Start reading at Command.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// program runs the command in its process.
type program struct{ *console.Process }

// Command returns the command apbridge bench.
func Command(process *console.Process) *cobra.Command {
	p := &program{process}
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench URL | --agent NAME[=URL] | -- COMMAND",
		Short: "Benchmark an agent with challenges in agbenchmark's format",
		Long: `bench gives an agent challenges and judges the files that it produces. It calls the agent like
agbenchmark, over Agent Protocol v1. The agent is a URL, --agent (any protocol,
through a temporary bridge), or a COMMAND, which gets a free port as PORT and {port}.
Challenges of type python and pytest run the agent's code here, without a sandbox.
$BENCHMARK_KEY is sent to the agent, $GRADER_KEY to the model at --grader-url.
Exit code: 0 if all passed, 1 if a challenge failed or is invalid, 2 if nothing could run.`,
		Example: `  apbridge bench http://127.0.0.1:8000
  apbridge bench --agent graph=http://127.0.0.1:2024 --challenges my/challenges --repeat 5
  apbridge bench --history runs -- python agent.py --port {port}
  apbridge bench compare runs/20260101T120000_full_run runs`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.bench(cmd.Context(), f, args, cmd.ArgsLenAtDash())
		},
	}
	f.add(cmd.Flags())
	cmd.AddCommand(p.compareCommand())
	return cmd
}

// benchFlags are the flags of the command.
type benchFlags struct {
	target                  targetFlags
	challenges, keep        string
	choice                  challenge.Selection
	repeat, parallel        int
	cutoff, patience        time.Duration
	list                    bool
	python, memory          string
	pythonTime              time.Duration
	report, junit, markdown string
	lines, history          string
	grader                  graderFlags
}

func (f *benchFlags) add(set *pflag.FlagSet) {
	f.target.add(set)
	set.StringVar(&f.challenges, "challenges", "", "`FOLDER` with challenges, data.json files at any depth (default: built-in challenges)")
	set.StringSliceVar(&f.choice.Categories, "category", nil, "comma-separated `CATEGORIES` of challenges to run")
	set.StringSliceVar(&f.choice.Only, "only", nil, "comma-separated `NAMES` of challenges to run, with their dependencies")
	set.StringSliceVar(&f.choice.Skip, "skip", nil, "comma-separated `NAMES` of challenges to skip")
	set.BoolVar(&f.choice.Alone, "no-dependencies", false, "run only the selected challenges, ignoring their dependencies")
	set.IntVar(&f.repeat, "repeat", 1, "number of attempts for each challenge")
	set.IntVar(&f.parallel, "parallel", 1, "number of challenges that run at a time")
	set.DurationVar(&f.cutoff, "cutoff", 0, "time limit of every challenge (default: its own)")
	set.DurationVar(&f.patience, "step-timeout", 5*time.Minute, "time limit of one request")
	set.BoolVar(&f.list, "list", false, "list the selected challenges and exit")
	set.StringVar(&f.keep, "keep", "", "new or empty `FOLDER` for the agent's files and the bridge's database")
	set.StringVar(&f.report, "report", "", "write agbenchmark's report.json to this `FILE`")
	set.StringVar(&f.junit, "junit", "", "write a JUnit XML report to this `FILE`")
	set.StringVar(&f.markdown, "markdown", "", "write a Markdown report to this `FILE`")
	set.StringVar(&f.lines, "jsonl", "", "write each event as a line of JSON to this `FILE`")
	set.StringVar(&f.history, "history", "", "add a folder with all reports of this run to this `FOLDER`")
	f.grader.add(set)
	set.StringVar(&f.python, "python", "", "Python `INTERPRETER` (default python3; challenges that need it are skipped without it)")
	set.DurationVar(&f.pythonTime, "python-timeout", 30*time.Second, "time limit of one judged program")
	set.StringVar(&f.memory, "python-memory", "2GiB", "memory limit of one judged program, a `SIZE` such as 512MiB; 0: none; no effect on macOS and Windows")
}

// check rejects invalid flags before any work starts.
func (f *benchFlags) check() error {
	for _, x := range []struct {
		wrong bool
		text  string
	}{
		{f.repeat < 1, "flag --repeat: must be at least 1"},
		{f.parallel < 1, "flag --parallel: must be at least 1"},
		{f.cutoff < 0, "flag --cutoff: must be at least 0, such as 90s; with 0, each challenge keeps its own limit"},
		{f.patience <= 0, "flag --step-timeout: must be above 0, such as 90s"},
		{f.target.startTimeout <= 0, "flag --start-timeout: must be above 0, such as 1m"},
		{f.pythonTime <= 0, "flag --python-timeout: must be above 0, such as 30s"},
	} {
		if x.wrong {
			return console.Misuse(x.text)
		}
	}
	return nil
}

func (p *program) bench(ctx context.Context, f benchFlags, args []string, dash int) error {
	if err := f.check(); err != nil {
		return err
	}
	chosen, faults, err := f.selected(p.Err)
	if err != nil {
		return console.Misuse(err.Error())
	}
	if f.list {
		return listChallenges(p.Out, chosen, faults)
	}
	python, err := f.interpreter()
	if err != nil {
		return console.Misuse(err.Error())
	}
	model, err := f.grader.open(ctx, p.Environ, chosen)
	if err != nil {
		return console.Unreached(ctx, err)
	}
	judge.Sweep(os.TempDir())
	files, err := f.open(time.Now())
	if err != nil {
		return console.Misuse(err.Error())
	}
	target, err := f.target.reach(ctx, p, benchCall{args: args, dash: dash, patience: f.patience, keep: f.keep})
	if err != nil {
		return errors.Join(console.Unreached(ctx, err), files.drop())
	}
	if err := files.emptyLines(); err != nil {
		return errors.Join(console.Misuse(err.Error()), files.drop(), target.close())
	}
	o := judge.Options{
		Agent: target.agent, Challenges: chosen, Alone: f.choice.Alone, Repeat: f.repeat, Parallel: f.parallel, Cutoff: f.cutoff,
		Keep: f.keep, Python: python, Model: model, Bridge: target.bridge, Threads: target.threads, Gone: target.gone,
	}
	r := p.judge(ctx, o, target.name, faults, files)
	if f.keep != "" {
		fmt.Fprintf(p.Out, "kept in %s%s\n", f.keep, target.look)
	}
	if err := errors.Join(files.finish(r), target.close()); err != nil {
		return err
	}
	return exitOf(r)
}

// judge runs the challenges and prints their results.
func (p *program) judge(ctx context.Context, o judge.Options, name string, faults []challenge.Fault, files *benchFiles) report.Report {
	watch := []func(report.Event){p.progress(), files.watch}
	o.Watch = func(e report.Event) {
		for _, w := range watch {
			w(e)
		}
	}
	tell := func(e report.Event) { e.Time = time.Now().UTC(); o.Watch(e) }
	tell(report.Event{Kind: report.EventBegin, Target: name, Of: len(o.Challenges) * o.Repeat})
	for i := range faults {
		tell(report.Event{Kind: report.EventFault, Fault: &faults[i]})
	}
	r := judge.Run(ctx, o)
	r.Target, r.Faults, r.Command = name, faults, console.WithoutSecrets(append([]string{"apbridge"}, p.Args...))
	sum := r.Summary()
	tell(report.Event{Kind: report.EventEnd, Summary: &sum})
	fmt.Fprintln(p.Out)
	_ = r.Table(p.Out) // write the reports even if the console is gone
	return r
}

// exitOf returns the exit code as an error.
func exitOf(r report.Report) error {
	switch {
	case r.Interrupted:
		return console.Ended(console.ExitInterrupted)
	case !r.Whole():
		return console.Ended(1)
	}
	return nil
}

// selected reads and selects the challenges. It prints those that are excluded by default.
func (f *benchFlags) selected(tell io.Writer) ([]challenge.Challenge, []challenge.Fault, error) {
	found, err := challenge.Builtin()
	if f.challenges != "" {
		name, err := filepath.Abs(f.challenges)
		if err != nil {
			return nil, nil, err
		}
		if found, err = challenge.Load(os.DirFS(f.challenges), name); err != nil {
			if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Path == "." { // the folder itself, which the error names anyway
				err = at.Err
			}
			return nil, nil, fmt.Errorf("the challenges in %s cannot be read: %w", f.challenges, err)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	all, circles := challenge.Order(found.Challenges)
	faults := append(found.Faults, circles...)
	if len(all) == 0 {
		return nil, nil, unreadable(f.challenges, faults)
	}
	chosen, err := f.choice.From(all)
	if err == nil {
		f.tellLeftOut(tell, found)
	}
	return chosen, faults, err
}

// tellLeftOut prints the challenges that are left out because agbenchmark also excludes them.
func (f *benchFlags) tellLeftOut(w io.Writer, found challenge.Found) {
	var out, categories []string
	for _, folder := range found.Retired {
		out = append(out, folder+"/")
	}
	unasked := 0
	for _, c := range found.Challenges {
		if f.choice.Unselected(c) {
			unasked++
			categories = append(categories, c.Optional...)
		}
	}
	if unasked > 0 {
		slices.Sort(categories)
		out = append(out, fmt.Sprintf("%d challenges that --category %s would add", unasked, strings.Join(slices.Compact(categories), ",")))
	}
	if len(out) > 0 {
		fmt.Fprintf(w, "left out, as in agbenchmark: %s\n", strings.Join(out, ", "))
	}
}

// unreadable returns the error of a folder without a valid challenge.
func unreadable(folder string, faults []challenge.Fault) error {
	var text strings.Builder
	fmt.Fprintf(&text, "no usable challenge in %s:", folder)
	for _, x := range faults {
		fmt.Fprintf(&text, "\n  %s", x.Error())
	}
	return errors.New(text.String())
}

func (f *benchFlags) interpreter() (*judge.Python, error) {
	memory, err := humanize.ParseBytes(f.memory)
	if err != nil {
		return nil, fmt.Errorf("flag --python-memory: %q is not a size, such as 2GiB", f.memory)
	}
	return judge.NewPython(f.python, judge.PythonLimits{Time: f.pythonTime, Memory: int64(memory)})
}

func listChallenges(w io.Writer, list []challenge.Challenge, faults []challenge.Fault) error {
	for _, c := range list {
		fmt.Fprintf(w, "%s (%s, %s, %v): %s\n", c.Name, strings.Join(c.Category, ", "), c.Ground.Eval.Type, c.Limit(), c.Task)
	}
	for _, x := range faults {
		fmt.Fprintf(w, "invalid challenge: %s\n", x.Error())
	}
	if len(faults) > 0 {
		return console.Ended(1)
	}
	return nil
}
