package console

import "github.com/spf13/cobra"

// CompleteWords offers fixed words for a flag.
func CompleteWords(cmd *cobra.Command, name string, offered ...string) {
	Must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp)))
}

// Must panics on an error. It is for errors that only the program's own text can cause, such as an unknown flag.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
