package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/spf13/cobra"
)

func (p *program) compareCommand() *cobra.Command {
	var failing []string
	var t report.Tolerance
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two reports",
		Long: `compare lists the challenges that are broken, fixed, flaky, not judged in one report,
slower, dearer, new or gone. BEFORE and AFTER are report.json files of bench or
agbenchmark, the folder of a run, or a folder of runs (the newest counts).

Exit code: 1 if a challenge changed in a way that --fail-on lists, else 0.`,
		Example: `  apbridge bench compare before.json after.json
  apbridge bench compare runs/20260101T120000_full_run runs --fail-on broken,slower --slower 2`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return p.compare(args[0], args[1], t, failing) },
	}
	cmd.Flags().StringSliceVar(&failing, "fail-on", []string{string(report.Broken)}, "comma-separated `CHANGES` that cause exit code 1: "+changeNames())
	cmd.Flags().Float64Var(&t.Time, "slower", 1.5, "`FACTOR` of the duration that counts as slower, if the difference is at least a second")
	cmd.Flags().Float64Var(&t.Cost, "dearer", 1.2, "`FACTOR` of the cost, or else of the tokens, that counts as dearer")
	return cmd
}

func changeNames() string {
	var names []string
	for _, c := range report.Changes() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

func (p *program) compare(before, after string, t report.Tolerance, failing []string) error {
	for _, name := range failing {
		if !slices.Contains(report.Changes(), report.Change(name)) {
			return console.Misuse(fmt.Sprintf("flag --fail-on: %q is not one of %s", name, changeNames()))
		}
	}
	if t.Time < 1 || t.Cost < 1 {
		return console.Misuse("flags --slower and --dearer: must be at least 1")
	}
	old, err := report.Read(before)
	if err != nil {
		return console.Misuse(err.Error())
	}
	next, err := report.Read(after)
	if err != nil {
		return console.Misuse(err.Error())
	}
	list := report.Compare(old, next, t)
	if err := report.WriteDifferences(p.Out, old, next, list); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(d report.Difference) bool { return slices.Contains(failing, string(d.Change)) }) {
		return console.Ended(1)
	}
	return nil
}
