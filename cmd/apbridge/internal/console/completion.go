package console

import "github.com/spf13/cobra"

// CompleteWords offers fixed words for a flag.
func CompleteWords(cmd *cobra.Command, name string, offered ...string) {
	Must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp)))
}

// Must panics if err is not nil. It is for errors that only a bug can cause, such as an unknown flag.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
