package main

import "github.com/spf13/cobra"

// completeWords offers fixed words for a flag.
func completeWords(cmd *cobra.Command, name string, offered ...string) {
	must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp)))
}

// must is for errors that the program's text alone can have: a flag that there is not.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
