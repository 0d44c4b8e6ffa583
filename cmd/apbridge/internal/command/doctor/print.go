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
	how := "configured"
	if f.asked {
		how = "detected"
	}
	if f.recorded {
		fmt.Fprintf(w, "  reachable   recorded; no agent is called\n  dialect     %s (%s)\n", f.dialect, how)
	} else {
		fmt.Fprintf(w, "  reachable   yes, in %s\n  dialect     %s (%s)\n  profile     %s\n", f.took.Round(10*time.Microsecond), f.dialect, how, f.profile)
	}
	fmt.Fprintf(w, "  stepping    %s\n", f.traits.Stepping)
	if f.version != "" {
		fmt.Fprintf(w, "  version     %s\n", f.version)
	}
	switch {
	case f.isStore:
		fmt.Fprintln(w, "  store       its own, also used for this bridge's /store (store.agent)")
	case f.stores:
		fmt.Fprintf(w, "  store       its own, separate from this bridge's /store (store.agent: %s shares it)\n", f.name)
	}
	for _, d := range bridge.Dialects() {
		f.printFates(w, d.Name, losses)
	}
}

// fates lists the fates of fields in the order of the output.
var fates = []mapping.Fate{mapping.Exact, mapping.Approximated, mapping.Dropped}

// printFates prints the number of request fields by fate for clients of a dialect. If all is set, it also lists them
// with the reasons.
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
	var counts []string
	for _, fate := range fates {
		counts = append(counts, fmt.Sprintf("%d %s", len(rows[fate]), fate))
	}
	list := ""
	if !all {
		list = " (--losses lists them)"
	}
	fmt.Fprintf(w, "  fields of %s requests: %s%s\n", client, strings.Join(counts, ", "), list)
	for _, fate := range fates {
		for _, row := range rows[fate] {
			if all {
				printFate(w, row)
			}
		}
	}
}

func printFate(w io.Writer, row mapping.LossRow) {
	fmt.Fprintf(w, "    %-13s %s.%s", row.Fate, row.Request, row.Field)
	if row.Reason != "" {
		fmt.Fprintf(w, ": %s", row.Reason)
	}
	fmt.Fprintln(w)
}

// printUse prints how to use an agent that was given as a URL.
func (f Finding) printUse(w io.Writer) {
	if f.Err == nil {
		fmt.Fprintf(w, "to use it: apbridge serve --agent %s=%s, or in a configuration\n  agents:\n    %s: {url: %q, dialect: %s}\n",
			f.name, f.url, f.name, f.url, f.dialect)
	}
}
