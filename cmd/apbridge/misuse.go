package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitMisuse is the exit code of a command line that cannot be meant as it is
// written; what was tried and failed ends with 1.
const exitMisuse = 2

// misuse is a command line that names what there is not.
type misuse string

func (m misuse) Error() string { return string(m) }

// strict has a command and those below it say what there is where arguments or
// flags are wrong.
func strict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misuse(fmt.Sprintf("%v; %s has %s.%s", err, cmd.CommandPath(), flagsOf(cmd), seeHelp(cmd)))
	})
	if allowed := cmd.Args; allowed != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if allowed(cmd, args) == nil {
				return nil
			}
			return wrongArguments(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		strict(sub)
	}
}

func wrongArguments(cmd *cobra.Command, args []string) error {
	switch {
	case cmd.HasAvailableSubCommands():
		return unknownCommand(cmd, args[0])
	case !strings.Contains(cmd.Use, " "):
		return misuse(fmt.Sprintf("%s takes no arguments: %q is one too many; it has %s.%s", cmd.CommandPath(), args[0], flagsOf(cmd), seeHelp(cmd)))
	}
	return misuse(fmt.Sprintf("write it as %s; the number of arguments was %d.%s", cmd.UseLine(), len(args), seeHelp(cmd)))
}

// unknownCommand names the nearest command, and all of them.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	near := ""
	cmd.SuggestionsMinimumDistance = 2
	if list := cmd.SuggestionsFor(word); len(list) > 0 {
		near = fmt.Sprintf(" Did you mean %s?", strings.Join(list, " or "))
	}
	return misuse(fmt.Sprintf("unknown command %q.%s There are %s.%s", word, near, strings.Join(names, ", "), seeHelp(cmd)))
}

func flagsOf(cmd *cobra.Command) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return strings.Join(names, ", ")
}

func seeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf(" More by: %s --help", cmd.CommandPath())
}
