//go:build man

package main

import (
	"fmt"
	"os"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// packaging returns the command for building packages. The installed binary does not contain its dependencies.
func (p *program) packaging() []*cobra.Command {
	return []*cobra.Command{{
		Use:   "man FOLDER",
		Short: "Write a man page for each command",
		Long: `man writes a man page for each command to FOLDER, which must exist. The pages have today's
date, or that of $SOURCE_DATE_EPOCH in seconds since 1970.`,
		Example: `  apbridge man ~/.local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return console.Misuse(fmt.Sprintf("there is no folder %s; create it first", args[0]))
			}
			cmd.Root().DisableAutoGenTag = true // the generated tag contains the date
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "apbridge", Manual: "apbridge"}, args[0])
		},
	}}
}
