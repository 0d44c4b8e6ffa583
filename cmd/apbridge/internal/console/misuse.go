package console

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Misuse is the error of an invalid command line.
type Misuse string

func (m Misuse) Error() string { return string(m) }

// Strict makes a command and its subcommands report the valid arguments and flags if it is called with invalid ones.
func Strict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Misuse(fmt.Sprintf("%s; %s%s has %s.%s", flagError(err), nearFlag(cmd, err), cmd.CommandPath(), flagsOf(cmd), seeHelp(cmd)))
	})
	if allowed := cmd.Args; allowed != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if allowed(cmd, args) == nil {
				return nil
			}
			return WrongArguments(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		Strict(sub)
	}
}

// nearFlag returns the flag that was probably meant, or "".
func nearFlag(cmd *cobra.Command, err error) string {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return ""
	}
	if meant := mapping.Nearest(unknown.GetSpecifiedName(), flagNames(cmd)); meant != "" {
		return fmt.Sprintf("did you mean --%s? ", meant)
	}
	return ""
}

// flagError rewords an error of pflag, whose causes mention Go functions.
func flagError(err error) string {
	bad := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &bad) {
		return err.Error()
	}
	wants := map[string]string{
		"int": "a whole number", "duration": "a time such as 30s, 10m or 2h", "bool": "true or false", "float64": "a number",
	}[bad.GetFlag().Value.Type()]
	if wants == "" {
		return fmt.Sprintf("flag --%s: %v", bad.GetFlag().Name, bad.Unwrap())
	}
	return fmt.Sprintf("flag --%s: expected %s, not %q", bad.GetFlag().Name, wants, bad.GetValue())
}

// WrongArguments returns the Misuse for invalid arguments.
func WrongArguments(cmd *cobra.Command, args []string) error {
	switch {
	case cmd.HasAvailableSubCommands():
		return unknownCommand(cmd, args[0])
	case !strings.Contains(cmd.Use, " "):
		return Misuse(fmt.Sprintf("%s takes no arguments, got %q; its flags are %s.%s", cmd.CommandPath(), args[0], flagsOf(cmd), seeHelp(cmd)))
	}
	return Misuse(fmt.Sprintf("usage: %s; arguments given: %d.%s", cmd.UseLine(), len(args), seeHelp(cmd)))
}

// unknownCommand returns an error with the nearest command, and all commands.
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
	return Misuse(fmt.Sprintf("unknown command %q.%s The commands are %s.%s", word, near, strings.Join(names, ", "), seeHelp(cmd)))
}

func flagsOf(cmd *cobra.Command) string {
	names := flagNames(cmd)
	for i, name := range names {
		names[i] = "--" + name
	}
	return strings.Join(names, ", ")
}

func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

func seeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf(" See %s --help", cmd.CommandPath())
}
