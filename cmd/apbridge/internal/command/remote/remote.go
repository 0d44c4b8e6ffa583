// Package remote implements the commands for a running bridge: runs, threads, agents, data and health. Package main
// adds them. They only use public routes (package api) and never open a database.
package remote

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

const defaultURL = "http://127.0.0.1:8080"

// remote is the bridge of a command, and the format of the output.
type remote struct {
	p        *console.Process
	url, key string
	output   string // text or json
}

// add adds the flags to a command and its subcommands.
func (r *remote) add(cmd *cobra.Command) {
	set := cmd.PersistentFlags()
	set.StringVar(&r.url, "url", "", "`URL` of the bridge (default $APBRIDGE_URL, else "+defaultURL+")")
	set.StringVar(&r.key, "key", "", "`KEY` to send; prefer $APBRIDGE_KEY (the default), since others can see arguments")
	set.StringVarP(&r.output, "output", "o", "text", "`FORMAT` of the output: text or json")
	console.CompleteWords(cmd, "output", "text", "json")
}

// client returns a client for the bridge of the flags and the environment.
func (r *remote) client() (*api.Client, error) {
	if r.output != "text" && r.output != "json" {
		return nil, console.Misuse(fmt.Sprintf("flag --output: %q is not one of text, json", r.output))
	}
	address := cmp.Or(r.url, console.Variable(r.p.Environ, "APBRIDGE_URL"), defaultURL)
	c, err := api.New(address, cmp.Or(r.key, console.Variable(r.p.Environ, "APBRIDGE_KEY")))
	if err != nil {
		return nil, console.Misuse(err.Error())
	}
	return c, nil
}

func (r *remote) json() bool { return r.output == "json" }

// printJSON writes a value as indented JSON.
func (r *remote) printJSON(v any) error { return indented(r.p.Out, v) }

// table writes rows in columns with a header. No line ends with spaces.
func table(w io.Writer, names string, rows [][]string) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(names, " ", "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(cells(row), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// cells replaces line breaks in the fields of a row. Programs that read a table expect one line per row, but clients
// choose the names of assistants.
func cells(row []string) []string {
	list := make([]string, len(row))
	for i, cell := range row {
		list[i] = inCell.Replace(cell)
	}
	return list
}

var inCell = strings.NewReplacer("\n", `\u000a`, "\r", `\u000d`, "\t", `\u0009`, "\v", `\u000b`, "\f", `\u000c`)

// pairs writes names and values, one pair per line. Pairs without a value are skipped.
func pairs(w io.Writer, list ...string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(list); i += 2 {
		if list[i+1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", list[i], list[i+1])
		}
	}
	return t.Flush()
}

// age returns the time since at in one unit.
func age(at, now time.Time) string {
	d := max(0, now.Sub(at))
	switch {
	case at.IsZero():
		return "-"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// exactTime returns a time for searching logs, or "".
func exactTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}
