package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and build information",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.Out, builtFrom())
			return err
		},
	}
}

// builtFrom returns the output of "version" and --version.
func builtFrom() string {
	revision, modified := bridge.BuildSetting("vcs.revision"), ""
	if revision == "" {
		revision = "unknown"
	}
	if bridge.BuildSetting("vcs.modified") == "true" {
		modified = " (modified)"
	}
	return fmt.Sprintf("apbridge %s\nrevision %s%s\n%s %s/%s\n", bridge.Version(), revision, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
