package console

import "github.com/spf13/cobra"

// CompleteWords offers fixed words for a flag.
func CompleteWords(cmd *cobra.Command, name string, offered ...string) {
	Must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp)))
}

// Must is for errors that the program's text alone can have: a flag that there is not.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
