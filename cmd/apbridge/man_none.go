//go:build !man

package main

import "github.com/spf13/cobra"

func (p *program) packaging() []*cobra.Command { return nil }
