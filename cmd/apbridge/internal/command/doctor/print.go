package doctor

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/mapping"
)

func (f Finding) print(w io.Writer, losses bool) {
	title, why := f.name+" at "+f.url, mapping.Classify(f.Err).Message
	if f.byURL != nil {
		title, why = f.url, f.byURL.Text(why)
	}
	fmt.Fprintln(w, title)
	if f.Err != nil {
		fmt.Fprintf(w, "  cannot be used: %s\n", why)
		for _, h := range f.Hints {
			fmt.Fprintf(w, "  %s\n", h)
		}
		return
	}
	how := "as configured"
	if f.asked {
		how = "found out"
	}
	if f.recorded {
		fmt.Fprintf(w, "  reachable   it answers as it was recorded, and nobody is called\n  dialect     %s (%s)\n", f.dialect, how)
	} else {
		fmt.Fprintf(w, "  reachable   yes, a call takes %s\n  dialect     %s (%s)\n  profile     %s\n", f.took.Round(10*time.Microsecond), f.dialect, how, f.profile)
	}
	fmt.Fprintf(w, "  stepping    %s\n", f.traits.Stepping)
	if f.version != "" {
		fmt.Fprintf(w, "  version     %s\n", f.version)
	}
	for _, d := range bridge.Dialects() {
		f.printFates(w, d.Name, losses)
	}
}

// fates are what can become of a field, in the order in which they are told.
var fates = []mapping.Fate{mapping.Exact, mapping.Approximated, mapping.Dropped}

// printFates tells what the agent is told of requests in a client's dialect; all: why, too.
func (f Finding) printFates(w io.Writer, client string, all bool) {
	rows := map[mapping.Fate][]mapping.LossRow{}
	for _, row := range bridge.Dialects().LossTable() {
		if row.From == client && row.To == f.dialect {
			rows[row.Fate] = append(rows[row.Fate], row)
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "  of the requests of %s clients it is told\n", client)
	for _, fate := range fates {
		if len(rows[fate]) > 0 {
			printFate(w, fate, rows[fate], all)
		}
	}
}

func printFate(w io.Writer, fate mapping.Fate, rows []mapping.LossRow, all bool) {
	if !all {
		fmt.Fprintf(w, "    %-13s %s\n", fate, wrapped(fields(rows), "\n"+strings.Repeat(" ", 18)))
		return
	}
	for _, row := range rows {
		fmt.Fprintf(w, "    %-13s %s.%s", fate, row.Request, row.Field)
		if row.Reason != "" {
			fmt.Fprintf(w, ": %s", row.Reason)
		}
		fmt.Fprintln(w)
	}
}

func fields(rows []mapping.LossRow) (names []string) {
	for _, row := range rows {
		names = append(names, row.Request+"."+row.Field)
	}
	return names
}

// wrapped is a list in lines of about 80 characters.
func wrapped(words []string, newline string) string {
	var b strings.Builder
	width := 0
	for i, word := range words {
		switch {
		case i > 0 && width+len(word) > 80:
			b.WriteString("," + newline)
			width = 0
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(word)
		width += len(word) + 2
	}
	return b.String()
}

// printUse tells how to use an agent that was given by its URL.
func (f Finding) printUse(w io.Writer) {
	if f.Err == nil {
		fmt.Fprintf(w, "to use it: apbridge serve --agent %s=%s, or in a configuration\n  agents:\n    %s: {url: %q, dialect: %s}\n",
			f.name, f.url, f.name, f.url, f.dialect)
	}
}
